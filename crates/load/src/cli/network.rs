//! The arguments about the connections' way to the server.

use std::net::IpAddr;

use clap::Args;

use crate::spec::IpVersion;

/// The arguments about the way to the server.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Network")]
pub struct Network {
    /// Connect over IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,

    /// Connect over IPv6 only
    #[arg(short = '6', long)]
    pub ipv6: bool,

    /// Local addresses that connections take turns in, separated by commas
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',')]
    pub sources: Vec<IpAddr>,

    /// TCP congestion control, as cubic; without it, the kernel's default
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
}

impl Network {
    /// The version of the Internet Protocol that was asked for.
    pub fn ip_version(&self) -> Option<IpVersion> {
        match (self.ipv4, self.ipv6) {
            (true, _) => Some(IpVersion::V4),
            (_, true) => Some(IpVersion::V6),
            _ => None,
        }
    }
}
