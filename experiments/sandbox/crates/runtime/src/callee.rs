//! The part of a worker that serves a call.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use crate::call::{Attempt, Terms};
use crate::connection::{attempt, read_ready};
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
                attempt(socket.as_fd(), request, terms, *shares, how)
            }
            Callee::Instance(instance) => instance.call(request, terms),
        }
    }
}

/// The host's end of a worker's socket, until a caller has it.
#[derive(Debug)]
pub struct HostEnd(Option<OwnedFd>);

impl HostEnd {
    /// The host's end of a worker that has just been started.
    pub fn new(socket: OwnedFd) -> Self {
        HostEnd(Some(socket))
    }

    /// Return the descriptor that becomes readable when the worker may be ready.
    pub fn readiness(&self) -> Option<RawFd> {
        self.0.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Read the worker's message before its call, or `None` if there is none yet. `how` tells how a worker
    /// ended.
    ///
    /// # Errors
    ///
    /// The reason why it never becomes ready, in words.
    pub fn read_ready(&self, how: impl Fn() -> Failure) -> Result<Option<u8>, String> {
        match &self.0 {
            Some(socket) => read_ready(socket.as_fd(), how),
            None => Ok(None),
        }
    }

    /// Return what a caller needs, once.
    pub fn callee(&mut self, shares: bool) -> Option<Callee> {
        let socket = self.0.take()?;
        Some(Callee::Socket { socket, shares })
    }
}
