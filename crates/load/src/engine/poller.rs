//! Edge-triggered epoll with timeouts in nanoseconds.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

const INTEREST: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

const HANGUP: epoll::EventFlags = epoll::EventFlags::RDHUP
    .union(epoll::EventFlags::HUP)
    .union(epoll::EventFlags::ERR);

/// Most edges that one wait reports.
const BATCH: usize = 256;

/// Waits for edges on sockets that are known by a number.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Poller {
    /// A poller that watches nothing.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Poller {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(BATCH),
        })
    }

    /// Watch `socket` until it is closed.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add(&self, socket: impl AsFd, number: usize) -> io::Result<()> {
        let data = epoll::EventData::new_u64(number as u64);
        Ok(epoll::add(&self.epoll, socket, data, INTEREST)?)
    }

    /// Report `socket` again if it is ready now.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn rearm(&self, socket: impl AsFd, number: usize) -> io::Result<()> {
        let data = epoll::EventData::new_u64(number as u64);
        Ok(epoll::modify(&self.epoll, socket, data, INTEREST)?)
    }

    /// Wait for edges, at most `timeout` nanoseconds; return how many there are.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn wait(&mut self, timeout: u64) -> io::Result<usize> {
        let timeout = Timespec {
            tv_sec: (timeout / 1_000_000_000) as i64,
            tv_nsec: (timeout % 1_000_000_000) as i64,
        };
        self.events.clear();
        match epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.events),
            Some(&timeout),
        ) {
            Ok(count) => Ok(count),
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// The socket of the edge `index`, and whether its peer has hung up.
    pub fn edge(&self, index: usize) -> (usize, bool) {
        let event = self.events[index];
        let flags = event.flags;
        (event.data.u64() as usize, flags.intersects(HANGUP))
    }
}
