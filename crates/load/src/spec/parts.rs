//! The parts of a spec that have fields of their own.

use std::path::PathBuf;

use serde::Deserialize;

use super::keys::KeySpec;
use crate::engine::accounts::AccountFiles;

/// One of several targets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Its URL.
    pub url: String,
    /// Its name in results, if not its index.
    #[serde(default)]
    pub name: Option<String>,
    /// Its part of an open loop's rate, and of the connections unless it names their number.
    #[serde(default = "one")]
    pub weight: f64,
    /// True if it is loaded in a closed loop beside the others' open one.
    #[serde(default)]
    pub closed: bool,
    /// The keys that replace `{key}` in its path, if not the common ones.
    #[serde(default)]
    pub keys: Option<KeySpec>,
    /// Its connections.
    #[serde(default)]
    pub connections: Option<usize>,
    /// The properties of its correct answers, if not the common ones.
    #[serde(default)]
    pub expect: Option<Expect>,
    /// Files with the CPU time of its control groups, by role, for slices.
    #[serde(default)]
    pub accounts: AccountFiles,
}

impl TargetSpec {
    /// A target with this URL and defaults for the rest.
    pub fn of(url: String) -> Self {
        TargetSpec {
            url,
            name: None,
            weight: one(),
            closed: false,
            keys: None,
            connections: None,
            expect: None,
            accounts: AccountFiles::new(),
        }
    }
}

fn one() -> f64 {
    1.0
}

/// A request's body.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Body {
    /// The text as it is written.
    Text(String),
    /// Bytes, written in base64.
    Base64 {
        /// The digits.
        base64: String,
    },
    /// `length` arbitrary bytes.
    Size {
        /// The number of bytes.
        size: usize,
    },
    /// The contents of a file.
    File {
        /// Its name.
        file: PathBuf,
    },
}

/// The demands on a TLS connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// The version: `"1.2"` or `"1.3"`; the best that both know if absent.
    pub version: Option<String>,
    /// The only cipher suite to offer, by its IANA name.
    pub cipher: Option<String>,
    /// The only key exchange group to offer, by its IANA name.
    pub group: Option<String>,
    /// True to let later connections resume the sessions of earlier ones.
    pub resume: bool,
    /// The server name to request, if not the URL's host.
    pub server_name: Option<String>,
    /// A file of certificates, one of which the server's must come from; if absent, the system's,
    /// and any for servers on this machine.
    pub roots: Option<PathBuf>,
    /// True to accept any certificate.
    pub insecure: bool,
}

/// The properties of a correct answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// The correct statuses.
    pub status: Vec<u16>,
    /// The body's length in bytes.
    pub body_length: Option<u64>,
    /// The body's SHA-256 in hexadecimal digits.
    pub body_sha256: Option<String>,
}

impl Default for Expect {
    fn default() -> Self {
        Expect {
            status: vec![200],
            body_length: None,
            body_sha256: None,
        }
    }
}
