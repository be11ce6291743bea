//! The state of one connection, kept while it is closed.

use std::collections::VecDeque;

use slab::Slab;

use crate::protocol::{ExchangeId, Failure};

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
            proved: false,
            queued_since: None,
            thinks_until: 0,
            timer: None,
            requests: Slab::new(),
        }
    }
}
