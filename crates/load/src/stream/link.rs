//! The socket of a connection, and the attempts to make it, which overlap (RFC 8305, section 5).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{getpeername, sockopt};

use super::addresses::Order;
use super::endpoint::Endpoint;
use super::race::Race;

/// A connection to one of a server's addresses.
#[derive(Debug)]
pub struct Link {
    /// The attempt that made the connection, or that began last.
    newest: Attempt,
    /// Those that began before, and have neither failed nor won.
    earlier: Vec<Attempt>,
    race: Race,
    connected: bool,
    /// True if the newest attempt began after [`Link::open`], and nobody was told.
    unwatched: bool,
}

#[derive(Debug)]
struct Attempt {
    address: usize,
    socket: OwnedFd,
}

impl Link {
    /// Begin with the first address of `order` that an attempt can begin at. `opened` counts the
    /// sockets of the thread.
    ///
    /// # Errors
    /// When none can begin.
    pub fn open(endpoint: &Endpoint, order: Order, opened: &mut usize) -> Result<Self, Errno> {
        let mut race = Race::new(order);
        let begun = race.begin(|address| attempt(endpoint, address, opened));
        Ok(Link {
            newest: begun.map_err(|error| error.expect("at least one address"))?,
            earlier: Vec::new(),
            race,
            connected: false,
            unwatched: false,
        })
    }

    /// The socket, or that of the attempt that began last.
    pub fn socket(&self) -> &OwnedFd {
        &self.newest.socket
    }

    /// The address that it is connected to, or that was tried last.
    pub fn address(&self) -> usize {
        self.newest.address
    }

    /// Return true once the connection is made.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// The sockets of all attempts under way.
    pub fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        let all = self.earlier.iter().chain([&self.newest]);
        all.map(|attempt| &attempt.socket)
    }

    /// The socket of an attempt that began since the last call.
    pub fn unwatched(&mut self) -> Option<BorrowedFd<'_>> {
        let unwatched = std::mem::take(&mut self.unwatched);
        unwatched.then(|| self.newest.socket.as_fd())
    }

    /// The time at which [`Link::expire`] is due.
    pub fn timer(&self) -> Option<Instant> {
        self.race.timer().filter(|_| !self.connected)
    }

    /// Try the next address beside those that have not answered.
    pub fn expire(&mut self, endpoint: &Endpoint, opened: &mut usize) {
        let begun = self
            .race
            .begin(|address| attempt(endpoint, address, opened));
        // The earlier ones may still win.
        if let Ok(attempt) = begun {
            self.unwatched = true;
            let before = std::mem::replace(&mut self.newest, attempt);
            self.earlier.push(before);
        }
    }

    /// Take the outcome of attempts after an edge of one of their sockets: the first that is connected
    /// wins, and another begins in place of those that failed. Return true if the connection is made.
    ///
    /// # Errors
    /// When all addresses have failed.
    pub fn settle(&mut self, endpoint: &Endpoint, opened: &mut usize) -> Result<bool, Errno> {
        let sole = endpoint.addresses.len() == 1;
        let mut pending = Vec::new();
        let mut failed = None;
        let newest = outcome(&self.newest.socket, sole);
        for attempt in std::mem::take(&mut self.earlier) {
            match outcome(&attempt.socket, false) {
                Ok(true) if newest != Ok(true) => {
                    self.newest = attempt;
                    self.connected = true;
                    return Ok(true);
                }
                Ok(_) => pending.push(attempt),
                Err(error) => failed = Some(error),
            }
        }
        match newest {
            Ok(true) => {
                self.connected = true;
                return Ok(true);
            }
            Ok(false) => {
                self.earlier = pending;
                if failed.is_some() {
                    self.expire(endpoint, opened);
                }
                return Ok(false);
            }
            Err(error) => failed = Some(error),
        }
        let begun = self
            .race
            .begin(|address| attempt(endpoint, address, opened));
        self.unwatched = begun.is_ok();
        // An earlier one is watched already.
        let next = begun.or_else(|error| pending.pop().ok_or(error.or(failed)));
        self.newest = next.map_err(|error| error.expect("an attempt failed"))?;
        self.earlier = pending;
        Ok(false)
    }
}

impl From<Link> for OwnedFd {
    fn from(link: Link) -> Self {
        link.newest.socket
    }
}

fn attempt(endpoint: &Endpoint, address: usize, opened: &mut usize) -> Result<Attempt, Errno> {
    let socket = endpoint.connect(address, *opened);
    *opened += 1;
    Ok(Attempt {
        address,
        socket: socket?,
    })
}

/// Return true if the socket is connected, and false if that is not known yet. After an edge it is,
/// if the socket is the `sole` one that the edge can be of.
fn outcome(socket: &OwnedFd, sole: bool) -> Result<bool, Errno> {
    sockopt::socket_error(socket)??;
    match sole {
        true => Ok(true),
        false => match getpeername(socket) {
            Ok(_) => Ok(true),
            Err(Errno::NOTCONN) => Ok(false),
            Err(error) => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::net::{AddressFamily, SocketType};

    use super::*;
    use crate::stream::endpoint::Address;

    /// A server whose backlog is full, so that its kernel drops what would connect.
    fn silent() -> (Vec<OwnedFd>, SocketAddr) {
        let socket = || rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        let listener = socket();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        rustix::net::bind(&listener, &any).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = rustix::net::getsockname(&listener).unwrap();
        let address = SocketAddr::try_from(address).unwrap();
        let fill = || {
            let client = socket();
            rustix::io::ioctl_fionbio(&client, true).unwrap();
            let _ = rustix::net::connect(&client, &address);
            client
        };
        (vec![listener, fill(), fill(), fill()], address)
    }

    fn refusing() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    }

    fn endpoint(addresses: &[SocketAddr]) -> Endpoint {
        Endpoint {
            addresses: addresses.iter().copied().map(Address::Inet).collect(),
            sources: vec![],
            congestion: None,
            proxy: None,
        }
    }

    fn open(endpoint: &Endpoint) -> Link {
        let order = Order::from(0, endpoint.addresses.len());
        Link::open(endpoint, order, &mut 0).unwrap()
    }

    /// Let the attempts under way go on until one has won or all have failed.
    fn end(link: &mut Link, endpoint: &Endpoint) -> Result<(), Errno> {
        while !link.settle(endpoint, &mut 0)? {
            let sockets = link.sockets();
            let mut watched: Vec<_> = sockets
                .map(|socket| PollFd::new(socket, PollFlags::OUT))
                .collect();
            poll(&mut watched, None).unwrap();
        }
        Ok(())
    }

    #[test]
    fn a_silent_address_is_still_tried_while_others_are() {
        let (_kept, silent) = silent();
        let two = endpoint(&[silent, silent]);
        let mut link = open(&two);
        assert!(link.timer().is_some() && link.unwatched().is_none());
        link.expire(&two, &mut 0);
        assert!(link.unwatched().is_some() && link.unwatched().is_none());
        assert_eq!(link.sockets().count(), 2);
        // There is no third one to wait for.
        assert_eq!(link.timer(), None);
        assert_eq!(link.settle(&two, &mut 0), Ok(false));
        assert_eq!(link.sockets().count(), 2);
    }

    #[test]
    fn the_first_that_answers_wins() {
        let (_kept, silent) = silent();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let live = listener.local_addr().unwrap();
        let of_three = endpoint(&[silent, live, silent]);
        let mut link = open(&of_three);
        link.expire(&of_three, &mut 0);
        end(&mut link, &of_three).unwrap();
        assert!(link.is_connected());
        assert_eq!((link.address(), link.sockets().count()), (1, 1));
        assert_eq!(link.timer(), None);
    }

    #[test]
    fn a_refusal_lets_the_next_begin_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let live = listener.local_addr().unwrap();
        let of_three = endpoint(&[refusing(), refusing(), live]);
        let mut link = open(&of_three);
        end(&mut link, &of_three).unwrap();
        assert_eq!(link.address(), 2);
        let dead = endpoint(&[refusing(), refusing()]);
        let mut link = open(&dead);
        assert_eq!(end(&mut link, &dead), Err(Errno::CONNREFUSED));
    }
}
