//! The attempts to connect to one of a server's addresses, which overlap (RFC 8305, section 5).

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use super::connection::Connection;
use super::datagrams::Socket;
use super::ending::unreachable;
use super::setup::Setup;
use crate::protocol::{End, Failure};
use crate::stream::addresses::Addresses;
use crate::stream::race::Race;

/// A connection to one of a server's addresses.
pub struct Attempts {
    target: usize,
    /// The attempt that made the connection, or that began last.
    pub newest: Connection,
    /// Those that began before, and have neither failed nor won.
    earlier: Vec<Connection>,
    race: Race,
    /// True if the newest attempt is not the first, and nobody was told.
    unwatched: bool,
}

impl AsFd for Attempts {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.newest.as_fd()
    }
}

impl Attempts {
    /// The socket of an attempt that began since the last call.
    pub fn unwatched(&mut self) -> Option<BorrowedFd<'_>> {
        let unwatched = std::mem::take(&mut self.unwatched);
        unwatched.then(|| self.newest.as_fd())
    }

    /// The time at which a timer of one of them is due, or another begins.
    pub fn timer(&mut self) -> Option<Instant> {
        let next = self.next_at();
        let all = self.earlier.iter_mut().chain([&mut self.newest]);
        all.filter_map(Connection::timer).chain(next).min()
    }

    /// The time at which another attempt begins.
    fn next_at(&self) -> Option<Instant> {
        self.race.timer().filter(|_| !self.newest.is_connected())
    }
}

/// Begins a thread's connections.
pub struct Dialer<'a> {
    setup: &'a Setup,
    client: quinn_proto::ClientConfig,
    addresses: Addresses,
    opened: usize,
}

impl<'a> Dialer<'a> {
    /// A thread's own, with its own sessions.
    pub fn new(setup: &'a Setup) -> Self {
        Dialer {
            setup,
            client: setup.client(),
            addresses: Addresses::new(setup.servers.iter().map(|(_, all)| all.len())),
            opened: 0,
        }
    }

    /// Begin to connect to `target`.
    ///
    /// # Errors
    /// When no attempt can begin.
    pub fn connect(&mut self, target: usize) -> Result<Attempts, End> {
        let mut race = Race::new(self.addresses.order(target));
        let begun = race.begin(|address| self.attempt(target, address));
        let newest = begun.map_err(|error| {
            self.addresses.failed(target);
            error.expect("at least one address")
        })?;
        Ok(Attempts {
            target,
            newest,
            earlier: Vec::new(),
            race,
            unwatched: false,
        })
    }

    /// Begin another attempt beside those under way if it is time.
    pub fn begin_due(&mut self, attempts: &mut Attempts, now: Instant) {
        if attempts.next_at().is_some_and(|at| at <= now) {
            self.begin_next(attempts);
        }
    }

    /// Let a connection take a `step`; until it is made, each attempt at it. The first that is connected
    /// wins, and another begins in place of those that failed.
    ///
    /// # Errors
    /// The connection's end, when all attempts have failed or the one that won ends.
    pub fn step<T>(
        &mut self,
        attempts: &mut Attempts,
        mut step: impl FnMut(&mut Connection) -> Result<T, End>,
    ) -> Result<Option<T>, End> {
        if attempts.newest.is_connected() {
            return step(&mut attempts.newest).map(Some);
        }
        let (mut pending, mut lost) = (Vec::new(), false);
        for mut earlier in std::mem::take(&mut attempts.earlier) {
            match step(&mut earlier) {
                Ok(done) if earlier.is_connected() => {
                    self.addresses.reached(attempts.target, earlier.address);
                    attempts.newest = earlier;
                    return Ok(Some(done));
                }
                Ok(_) => pending.push(earlier),
                Err(_) => lost = true,
            }
        }
        let stepped = step(&mut attempts.newest);
        if attempts.newest.is_connected() {
            self.addresses
                .reached(attempts.target, attempts.newest.address);
            return stepped.map(Some);
        }
        attempts.earlier = pending;
        match stepped {
            Ok(done) => {
                if lost {
                    self.begin_next(attempts);
                }
                Ok(Some(done))
            }
            Err(end) => {
                if self.begin_next(attempts) {
                    // The one that was the newest has failed.
                    attempts.earlier.pop();
                    return Ok(None);
                }
                let Some(left) = attempts.earlier.pop() else {
                    self.addresses.failed(attempts.target);
                    return Err(end);
                };
                attempts.newest = left;
                Ok(None)
            }
        }
    }

    /// Begin the next attempt; return false if there is none.
    fn begin_next(&mut self, attempts: &mut Attempts) -> bool {
        let target = attempts.target;
        let begun = attempts.race.begin(|address| self.attempt(target, address));
        let Ok(next) = begun else {
            return false;
        };
        attempts.unwatched = true;
        let before = std::mem::replace(&mut attempts.newest, next);
        attempts.earlier.push(before);
        true
    }

    fn attempt(&mut self, target: usize, address: usize) -> Result<Connection, End> {
        let (endpoint, servers) = &self.setup.servers[target];
        let socket = Socket::new(endpoint, servers[address], self.opened);
        self.opened += 1;
        let socket = socket.map_err(|error| End::Broken(Failure::connect(unreachable(&error))))?;
        let client = self.client.clone();
        Connection::new(self.setup, (target, address), client, socket).map_err(End::Broken)
    }
}
