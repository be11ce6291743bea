//! The state of one connection, kept while it is closed.

use std::collections::VecDeque;

use slab::Slab;

use crate::engine::load::Timeouts;
use crate::protocol::{ExchangeId, Failure, Kind};

const NOT_BEGUN: Failure = Failure {
    kind: Kind::TtfbTimeout,
    why: "the answer did not begin in time",
};
const NOT_WHOLE: Failure = Failure {
    kind: Kind::Timeout,
    why: "the answer was not whole in time",
};

/// The state of a connection. Times are in nanoseconds since the start.
pub struct ConnectionState<C> {
    pub connection: Option<C>,
    pub target: usize,
    /// Its local port, if times are kept.
    pub port: u16,
    /// The time at which it was last opened.
    pub opened: u64,
    /// The time at which its transport was connected.
    pub connected: u64,
    /// Requests that it has carried since it was opened.
    pub carried: u64,
    /// True once it could be used since it was opened.
    pub usable: bool,
    /// True if it has carried an answer since it was opened.
    pub proved: bool,
    /// The time since which it has waited in a queue.
    pub queued_since: Option<u64>,
    /// The time before which it sends no request.
    pub thinks_until: u64,
    /// The time at which the protocol's timer is due.
    pub timer: Option<u64>,
    pub requests: Slab<InFlight>,
}

/// A request in flight, with its times in nanoseconds since the start.
pub struct InFlight {
    pub exchange: ExchangeId,
    pub intended: u64,
    pub sent: u64,
    /// The time of the answer's first byte, if it came in several pieces.
    pub begun: Option<u64>,
    /// The place in the bytes of its connection at which it ends, if times are kept.
    pub end: u64,
    /// Times that it was sent again.
    pub retries: u8,
}

impl InFlight {
    /// The failure of a request that is not answered in time at `now`, or whose answer is whole then.
    pub fn late(&self, timeouts: &Timeouts, now: u64) -> Option<Failure> {
        if self.sent + timeouts.answer <= now {
            Some(NOT_WHOLE)
        } else if self.sent + timeouts.ttfb <= self.begun.unwrap_or(now) {
            Some(NOT_BEGUN)
        } else {
            None
        }
    }
}

/// Refused requests in the order of their refusals, each with its target and what it counts as if
/// it is not answered.
pub type Retries = VecDeque<(usize, InFlight, Failure)>;

impl<C> ConnectionState<C> {
    /// The state of a closed connection to one target.
    pub fn new(target: usize) -> Self {
        ConnectionState {
            connection: None,
            target,
            port: 0,
            opened: 0,
            connected: 0,
            carried: 0,
            usable: false,
            proved: false,
            queued_since: None,
            thinks_until: 0,
            timer: None,
            requests: Slab::new(),
        }
    }
}
