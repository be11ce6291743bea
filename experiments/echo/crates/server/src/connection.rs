//! One connection: its ends, and what flows between them.

use std::os::fd::OwnedFd;

use rustix::event::epoll;

use crate::mover::State;

/// Flow i reads from end i; in an echo there is one end, to which it also writes.
pub struct Connection<F> {
    pub ends: Vec<OwnedFd>,
    pub flows: Vec<(F, State)>,
    /// The events registered at each end; `None` where the end is not registered.
    pub asked: Vec<Option<epoll::EventFlags>>,
}

impl<F> Connection<F> {
    /// The other end, or the only one.
    pub fn across(&self, end: usize) -> usize {
        self.ends.len() - 1 - end
    }

    /// The events that an end waits for.
    pub fn wanted(&self, end: usize) -> epoll::EventFlags {
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN, self.flows[end].1 == State::Reading);
        flags.set(
            epoll::EventFlags::OUT,
            self.flows[self.across(end)].1 == State::Blocked,
        );
        flags
    }
}
