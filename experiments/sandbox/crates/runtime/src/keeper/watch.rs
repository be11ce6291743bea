//! Descriptors that a keeper waits for.

use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;

use crate::call::timespec;

/// The owner of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The keeper's own inbox.
    Inbox,
    /// The line to those who take calls.
    Line,
    /// A place.
    Place(usize),
}

const INBOX: u64 = u64::MAX;
const LINE: u64 = u64::MAX - 1;

/// Waits for descriptors.
pub struct Watch(OwnedFd);

impl Watch {
    /// Without descriptors.
    ///
    /// # Errors
    ///
    /// The kernel's, in words.
    pub fn new() -> Result<Self, String> {
        let made = epoll::create(epoll::CreateFlags::CLOEXEC);
        made.map(Watch).map_err(|error| error.to_string())
    }

    /// Wait for `descriptor`, too, until it is closed or [`Watch::remove`]d.
    ///
    /// # Errors
    ///
    /// The kernel's, in words.
    pub fn add(&self, descriptor: RawFd, source: Source) -> Result<(), String> {
        let number = match source {
            Source::Inbox => INBOX,
            Source::Line => LINE,
            Source::Place(place) => place as u64,
        };
        // SAFETY: the caller keeps the descriptor open for the length of this call.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let data = epoll::EventData::new_u64(number);
        epoll::add(&self.0, descriptor, data, epoll::EventFlags::IN)
            .map_err(|error| error.to_string())
    }

    /// Wait for it no longer.
    pub fn remove(&self, descriptor: Option<RawFd>) {
        if let Some(descriptor) = descriptor {
            // SAFETY: as above.
            let _ = epoll::delete(&self.0, unsafe { BorrowedFd::borrow_raw(descriptor) });
        }
    }

    /// Wait until some are readable, or so long, and return what they belong to.
    pub fn wait(&self, patience: Option<Duration>) -> Vec<Source> {
        let mut events = Vec::with_capacity(64);
        let patience = patience.map(timespec);
        let room = spare_capacity(&mut events);
        if epoll::wait(&self.0, room, patience.as_ref()).is_err() {
            return Vec::new();
        }
        let source = |event: &epoll::Event| match event.data.u64() {
            INBOX => Source::Inbox,
            LINE => Source::Line,
            place => Source::Place(place as usize),
        };
        events.iter().map(source).collect()
    }
}
