//! Messages to a keeper from within its process.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use crate::order::Order;

/// A message to a keeper.
pub enum Message {
    /// One about a worker.
    Order(Order),
    /// A worker's leftovers are gone, or (false) cannot be removed.
    Swept(usize, bool),
    /// Start no more, and end when all workers have ended.
    Stop,
}

/// The queue of messages to a keeper.
pub struct Inbox {
    messages: Mutex<VecDeque<Message>>,
    wake: OwnedFd,
}

impl Inbox {
    /// An empty one.
    ///
    /// # Errors
    ///
    /// The kernel's, when there are no more descriptors.
    pub fn new() -> std::io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Inbox {
            messages: Mutex::default(),
            wake,
        })
    }

    /// Send a message to the keeper.
    pub fn send(&self, message: Message) {
        self.messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(message);
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// The descriptor that is readable when messages have come.
    pub(super) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Take the oldest message.
    pub(super) fn next(&self) -> Option<Message> {
        self.messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }

    /// Forget that messages have come.
    pub(super) fn quiet(&self) {
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
    }
}
