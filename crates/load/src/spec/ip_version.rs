//! The version of the Internet Protocol.

use std::net::SocketAddr;

use serde::Deserialize;

/// The version of the Internet Protocol that connections use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u8")]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl IpVersion {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            IpVersion::V4 => "IPv4",
            IpVersion::V6 => "IPv6",
        }
    }

    /// Return true if `address` is of this version.
    pub fn has(self, address: SocketAddr) -> bool {
        address.is_ipv6() == (self == IpVersion::V6)
    }
}

impl TryFrom<u8> for IpVersion {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        match number {
            4 => Ok(IpVersion::V4),
            6 => Ok(IpVersion::V6),
            _ => Err("expected 4 or 6"),
        }
    }
}
