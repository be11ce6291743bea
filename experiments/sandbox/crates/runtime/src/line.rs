//! The line from a keeper to those who take calls of its workers, in this process or in another.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::dispatcher::Dispatcher;
use crate::order::{Event, Order};
use crate::wire;

/// The line.
pub enum Line {
    /// To this process.
    Here(Arc<Dispatcher>),
    /// Over a socket. Orders come from it, too.
    There(OwnedFd),
}

/// Nobody is at the other end of a line, or somebody who breaks the protocol.
pub struct Cut;

impl Line {
    /// Say something, as the keeper of that number. Return a place whose worker nobody will ever call.
    ///
    /// # Errors
    ///
    /// When nobody listens.
    pub fn tell(&self, keeper: usize, event: Event) -> Result<Option<usize>, Cut> {
        match self {
            Line::Here(dispatcher) => Ok(dispatcher.take(keeper, event)),
            Line::There(socket) => wire::tell(socket.as_fd(), event)
                .map(|()| None)
                .map_err(|_| Cut),
        }
    }

    /// The socket that orders come from, if they do.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Line::Here(_) => None,
            Line::There(socket) => Some(socket.as_fd()),
        }
    }

    /// Take an order that has come over the socket, if there is one.
    ///
    /// # Errors
    ///
    /// When nobody sends any more, or what is no order.
    pub fn order(&self) -> Result<Option<Order>, Cut> {
        match self {
            Line::Here(_) => Ok(None),
            Line::There(socket) => wire::order(socket.as_fd()).map_err(|_| Cut),
        }
    }
}
