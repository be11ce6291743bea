//! Checks the local addresses that connections come from.

use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};

use crate::spec::SpecError;
use crate::stream::endpoint::Address;

/// The server's `addresses` that can be reached from all `sources`.
///
/// # Errors
/// A [`SpecError`] that names a source which is not this machine's, or from which no address can be
/// reached.
pub fn reachable(sources: &[IpAddr], addresses: Vec<Address>) -> Result<Vec<Address>, SpecError> {
    sources.iter().try_for_each(|source| is_local(*source))?;
    let mut left = addresses;
    for source in sources {
        let first = left.first().cloned();
        left.retain(|address| match address {
            Address::Inet(address) => address.is_ipv4() == source.is_ipv4(),
            Address::Unix(_) => true,
        });
        if let (Some(Address::Inet(server)), true) = (first, left.is_empty()) {
            let found = format!("{source} is not of the family of the server's address {server}");
            let remedy = "name sources of that family, or another address in the URL";
            return Err(SpecError::new("sources", found, remedy));
        }
    }
    Ok(left)
}

fn is_local(source: IpAddr) -> Result<(), SpecError> {
    let family = match source {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let bound = rustix::net::socket(family, SocketType::STREAM, None)
        .and_then(|socket| rustix::net::bind(&socket, &SocketAddr::new(source, 0)));
    bound.map_err(|error| {
        let found = match error {
            Errno::ADDRNOTAVAIL => format!("{source} is not an address of this machine"),
            error => format!("no connection can come from {source} ({error})"),
        };
        SpecError::new("sources", found, "name some that `ip address` lists")
    })
}
