//! A data path: how bytes get from one socket to another.

use std::os::fd::BorrowedFd;

use anyhow::Result;
use rustix::io::Errno;

use crate::counters::Counters;

/// The state of a flow after it was pumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It moved a piece, and its source may have more.
    Moved,
    /// Its source has no more bytes now.
    Reading,
    /// It holds bytes that its destination does not take yet.
    Blocked,
    /// Its source ended, and all it sent is on its way.
    Ended,
}

/// A data path: how bytes get from one socket to another.
pub trait Mover {
    /// The state of one direction of one connection.
    type Flow;

    /// A new direction.
    fn flow(&mut self) -> Result<Self::Flow>;

    /// Move what was left of the last piece, and another. An error ends the connection.
    fn pump(
        &mut self,
        flow: &mut Self::Flow,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        counters: &Counters,
    ) -> Result<State, Errno>;
}
