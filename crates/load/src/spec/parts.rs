//! The parts of a spec that have fields of their own.

use std::path::PathBuf;

use serde::Deserialize;

/// A request's body.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
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
    /// A PEM file with the certificate to show, and those up to its root.
    pub certificate: Option<PathBuf>,
    /// A PEM file with its key; the same file if absent.
    pub key: Option<PathBuf>,
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
