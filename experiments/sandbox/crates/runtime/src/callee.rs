//! The part of a worker that serves a call.

use std::os::fd::{AsFd, OwnedFd};

use crate::call::{Attempt, Terms};
use crate::connection;
use crate::failure::Failure;

/// The end of a ready worker that its caller has.
pub enum Callee {
    /// The socket of a worker that is a process, wherever that is.
    Socket {
        /// The host's end.
        socket: OwnedFd,
        /// True if request and response are in memory that the worker shares.
        shares: bool,
    },
    /// A worker that runs on its caller's thread.
    Instance(Box<dyn Instance>),
}

/// A worker that runs on its caller's thread.
pub trait Instance: Send {
    /// Serve a call.
    fn call(&mut self, request: &[u8], terms: &Terms) -> Attempt;
}

impl Callee {
    /// Serve a call. `how` tells how a worker ended that closed its socket.
    pub fn call(&mut self, request: &[u8], terms: &Terms, how: impl Fn() -> Failure) -> Attempt {
        match self {
            Callee::Socket { socket, shares } => {
                connection::attempt(socket.as_fd(), request, terms, *shares, how)
            }
            Callee::Instance(instance) => instance.call(request, terms),
        }
    }
}
