//! The version of the PROXY header.

use serde::Deserialize;

/// The version of the header that a proxy sends before a client's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u8")]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

impl TryFrom<u8> for ProxyVersion {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        match number {
            1 => Ok(ProxyVersion::V1),
            2 => Ok(ProxyVersion::V2),
            _ => Err("expected 1 or 2"),
        }
    }
}
