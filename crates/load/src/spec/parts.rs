//! The parts of a spec that have fields of their own.

use std::path::PathBuf;

use serde::Deserialize;

use super::keys::KeySpec;

/// One of several targets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Its URL.
    pub url: String,
    /// What results call it, if not by its place.
    #[serde(default)]
    pub name: Option<String>,
    /// Its part of an open loop's rate, and of the connections unless it names their number.
    #[serde(default = "one")]
    pub weight: f64,
    /// Whether it is loaded in a closed loop beside the others' open one.
    #[serde(default)]
    pub closed: bool,
    /// What stands for `{key}` in its path, if not what does in the others'.
    #[serde(default)]
    pub keys: Option<KeySpec>,
    /// Its connections.
    #[serde(default)]
    pub connections: Option<usize>,
    /// What a correct answer of it is, if not what the others' is.
    #[serde(default)]
    pub expect: Option<Expect>,
}

impl TargetSpec {
    /// A target of which only the URL is said.
    pub fn of(url: String) -> Self {
        TargetSpec {
            url,
            name: None,
            weight: one(),
            closed: false,
            keys: None,
            connections: None,
            expect: None,
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
    /// As it is written.
    Text(String),
    /// Bytes, written in base64.
    Base64 {
        /// The digits.
        base64: String,
    },
    /// So many arbitrary bytes.
    Size {
        /// How many.
        size: usize,
    },
    /// The contents of a file.
    File {
        /// Its name.
        file: PathBuf,
    },
}

/// What a TLS connection must be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// The version: `"1.2"` or `"1.3"`; the best that both know if absent.
    pub version: Option<String>,
    /// The only cipher suite to offer, by its IANA name.
    pub cipher: Option<String>,
    /// The only key exchange group to offer, by its IANA name.
    pub group: Option<String>,
    /// Whether later connections resume the sessions of earlier ones.
    pub resume: bool,
    /// The name to ask for, if not the URL's host.
    pub server_name: Option<String>,
    /// A file of certificates, one of which the server's must come from. Without one any will do.
    pub roots: Option<PathBuf>,
}

/// What a correct answer is.
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
