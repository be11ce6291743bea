//! A server's counters, one set per thread, so that no two threads write to one cache line.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::log;

/// Bytes that went out of the server, and in how many pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes.
    pub bytes: u64,
    /// Pieces: reads, received buffers, or the kernel's skbs, as the data path has them.
    pub messages: u64,
}

/// Counters of one thread; only that thread adds.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counters {
    /// Clients accepted.
    pub accepted: AtomicU64,
    /// Clients whose connection ended.
    pub closed: AtomicU64,
    /// Clients of those that the server itself ended, because of an error or a limit.
    pub aborted: AtomicU64,
    /// Clients that user space forwards although the kernel should, each for a reason that the
    /// data path's README gives.
    pub by_hand: AtomicU64,
    /// Bytes forwarded.
    pub bytes: AtomicU64,
    /// Pieces forwarded.
    pub messages: AtomicU64,
    /// System calls on the data path.
    pub calls: AtomicU64,
}

impl Counters {
    /// Add to a counter that no other thread writes: a plain addition, without a locked one.
    pub fn add(counter: &AtomicU64, more: u64) {
        counter.store(counter.load(Relaxed) + more, Relaxed);
    }

    /// A piece of `bytes` was forwarded.
    pub fn forwarded(&self, bytes: usize) {
        Self::add(&self.bytes, bytes as u64);
        Self::add(&self.messages, 1);
    }

    /// One system call was made.
    pub fn called(&self) {
        Self::add(&self.calls, 1);
    }

    /// An accepted client could not be served.
    pub fn turned_away(&self, error: &anyhow::Error) {
        log::line(format_args!("a client is turned away: {error:#}"));
        Self::add(&self.closed, 1);
        Self::add(&self.aborted, 1);
    }

    /// Count `left` connections that did not end in time.
    pub fn gave_up(&self, left: u64) {
        if left > 0 {
            log::line(format_args!(
                "{left} connection(s) did not end in time and are closed"
            ));
        }
        Self::add(&self.aborted, left);
        Self::add(&self.closed, left);
    }

    /// Return the totals forwarded so far.
    pub fn moved(&self) -> Moved {
        Moved {
            bytes: self.bytes.load(Relaxed),
            messages: self.messages.load(Relaxed),
        }
    }
}
