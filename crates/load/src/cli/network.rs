//! The arguments about the connections' way to the server.

use std::net::IpAddr;

use clap::Args;

use super::values::{connect_to, proxy_version, resolve};
use crate::spec::redirect::Redirects;
use crate::spec::{IpVersion, ProxyVersion, SpecError};

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

    /// Connect to ADDRESS for URLs with this host and port; repeatable
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = resolve)]
    pub resolve: Vec<(String, String)>,

    /// Connect to HOST2 and PORT2 for URLs with this host and port; repeatable
    #[arg(long, value_name = "HOST:PORT:HOST2:PORT2", value_parser = connect_to)]
    pub connect_to: Vec<(String, String)>,

    /// Begin each connection with a PROXY header of version 1 or 2
    #[arg(long, value_name = "VERSION", value_parser = proxy_version)]
    pub proxy_protocol: Option<ProxyVersion>,

    /// Local addresses that connections take turns in, separated by commas
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',')]
    pub sources: Vec<IpAddr>,

    /// TCP congestion control, as cubic; without it, the kernel's default
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
}

impl Network {
    /// Other places to connect to than those that URLs name.
    ///
    /// # Errors
    /// A [`SpecError`] for a place with two others.
    pub fn redirects(&self) -> Result<Redirects, SpecError> {
        let mut redirects = Redirects::new();
        for (from, to) in self.resolve.iter().chain(&self.connect_to) {
            let before = redirects.insert(from.clone(), to.clone());
            if let Some(other) = before.filter(|other| other != to) {
                let found = format!("both {other} and {to} for {from}");
                return Err(SpecError::new("connect_to", found, "write one of them"));
            }
        }
        Ok(redirects)
    }

    /// The version of the Internet Protocol that was asked for.
    pub fn ip_version(&self) -> Option<IpVersion> {
        match (self.ipv4, self.ipv6) {
            (true, _) => Some(IpVersion::V4),
            (_, true) => Some(IpVersion::V6),
            _ => None,
        }
    }
}
