//! The addresses that a host's name stands for, in the order in which they are tried.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::spec::{IpVersion, SpecError};

/// The addresses of `host`, those of `version` only if there is one.
///
/// # Errors
/// A [`SpecError`] when it has none.
pub fn addresses(
    host: &str,
    port: u16,
    version: Option<IpVersion>,
) -> Result<Vec<SocketAddr>, SpecError> {
    let found: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .into_iter()
        .flatten()
        .collect();
    let found = ordered(found, version);
    if found.is_empty() {
        let found = match version {
            Some(version) => format!("the host {host:?} has no {} address", version.name()),
            None => format!("the host {host:?} has no address"),
        };
        let remedy = "check the name, or write an address";
        return Err(SpecError::new("url", found, remedy));
    }
    Ok(found)
}

/// Each address once, IPv6 and IPv4 in turn (RFC 8305, section 4); otherwise as the system orders
/// them.
fn ordered(found: Vec<SocketAddr>, version: Option<IpVersion>) -> Vec<SocketAddr> {
    let mut unique = Vec::new();
    for address in found {
        if version.is_none_or(|version| version.has(address)) && !unique.contains(&address) {
            unique.push(address);
        }
    }
    let first_is_ipv6 = unique.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = unique
        .into_iter()
        .partition(|address| address.is_ipv6() == first_is_ipv6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut ordered = Vec::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] {
            return ordered;
        }
        ordered.extend(pair.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns_and_each_address_comes_once() {
        let all = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let (a, b, c, d) = ("[::1]:1", "[::2]:1", "127.0.0.1:1", "127.0.0.2:1");
        for (found, version, wanted) in [
            (&[a, b, a, c, d][..], None, &[a, c, b, d][..]),
            (&[c, d, a, c], None, &[c, a, d]),
            (&[a, b, c], Some(IpVersion::V4), &[c]),
            (&[c, a, b], Some(IpVersion::V6), &[a, b]),
            (&[c], Some(IpVersion::V6), &[]),
        ] {
            assert_eq!(ordered(all(found), version), all(wanted));
        }
        let error = addresses("127.0.0.1", 1, Some(IpVersion::V6)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "url: the host \"127.0.0.1\" has no IPv6 address; check the name, or write an address"
        );
    }
}
