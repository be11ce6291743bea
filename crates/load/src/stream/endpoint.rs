//! The addresses that connections go to and come from.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, ipproto, socket_with,
    sockopt,
};

use super::proxy_header;
use crate::spec::ProxyVersion;

/// A server's addresses, and the local addresses to reach it from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The server's addresses, in the order in which they are tried; at least one.
    pub addresses: Vec<Address>,
    /// Local addresses that connections take turns in; the kernel's choice if there are none.
    pub sources: Vec<IpAddr>,
    /// TCP congestion control; the kernel's default if there is none.
    pub congestion: Option<String>,
    /// The header of a proxy that each connection begins with.
    pub proxy: Option<ProxyVersion>,
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP or UDP.
    Inet(SocketAddr),
    /// A Unix socket, by its path.
    Unix(PathBuf),
}

impl Address {
    /// Return true if the server is on this machine whatever its network.
    pub fn is_loopback(&self) -> bool {
        match self {
            Address::Inet(address) => address.ip().to_canonical().is_loopback(),
            Address::Unix(_) => true,
        }
    }
}

impl Endpoint {
    /// Start to connect a stream to the address `which`, the `number`th of its thread; over TCP
    /// without Nagle's delay.
    ///
    /// # Errors
    /// When that fails at once, or no descriptor is left.
    pub fn connect(&self, which: usize, number: usize) -> rustix::io::Result<OwnedFd> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let (socket, outcome) = match &self.addresses[which] {
            Address::Inet(address) => {
                let family = family(*address);
                let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
                sockopt::set_tcp_nodelay(&socket, true)?;
                if let Some(name) = &self.congestion {
                    sockopt::set_tcp_congestion(&socket, name)?;
                }
                self.bind(&socket, number)?;
                let outcome = rustix::net::connect(&socket, address);
                (socket, outcome)
            }
            Address::Unix(path) => {
                let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
                let outcome = rustix::net::connect(&socket, &SocketAddrUnix::new(path)?);
                (socket, outcome)
            }
        };
        match outcome {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error),
        }
    }

    /// A socket for datagrams to and from `server` only, the `number`th of its thread.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn datagrams(&self, server: SocketAddr, number: usize) -> rustix::io::Result<OwnedFd> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family(server), SocketType::DGRAM, flags, None)?;
        self.bind(&socket, number)?;
        rustix::net::connect(&socket, &server)?;
        Ok(socket)
    }

    fn bind(&self, socket: &OwnedFd, number: usize) -> rustix::io::Result<()> {
        let Some(source) = self.sources.get(number % self.sources.len().max(1)) else {
            return Ok(());
        };
        // The port is chosen when the connection is made: it need only be free for this server.
        bind_address_no_port(socket)?;
        rustix::net::bind(socket, &SocketAddr::new(*source, 0))
    }
}

/// Append the bytes that a fresh connection to `endpoint` begins with, before any protocol's.
pub fn greet(endpoint: &Endpoint, socket: impl AsFd, out: &mut Vec<u8>) {
    let Some(version) = endpoint.proxy else {
        return;
    };
    let address = |found: SocketAddrAny| SocketAddr::try_from(found).ok();
    let from = rustix::net::getsockname(&socket).ok().and_then(address);
    let to = rustix::net::getpeername(&socket).ok().flatten();
    let to = to.and_then(address);
    proxy_header::write(version, from.zip(to), out);
}

fn family(address: SocketAddr) -> AddressFamily {
    match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    }
}

fn bind_address_no_port(socket: &OwnedFd) -> rustix::io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
    setsockopt(socket, IpBindAddressNoPort, &true)
        .map_err(|error| Errno::from_raw_os_error(error as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known_by_its_address() {
        let inet = |text: &str| Address::Inet(text.parse().unwrap()).is_loopback();
        assert!(inet("127.9.9.9:1") && inet("[::1]:1") && inet("[::ffff:127.0.0.1]:1"));
        assert!(!inet("192.0.2.1:1") && !inet("[2001:db8::1]:1"));
        assert!(Address::Unix("/a".into()).is_loopback());
    }

    #[test]
    fn a_connection_has_the_congestion_control_that_was_asked_for() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint {
            addresses: vec![Address::Inet(server.local_addr().unwrap())],
            sources: vec![],
            congestion: Some("reno".into()),
            proxy: None,
        };
        let socket = endpoint.connect(0, 0).unwrap();
        assert_eq!(sockopt::tcp_congestion(&socket).unwrap(), "reno");
        assert!(sockopt::tcp_nodelay(&socket).unwrap());
    }
}
