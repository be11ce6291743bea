//! A call: who makes it, what is allowed, and how long its parts took.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::budget::{Budget, Share};
use crate::failure::Failure;
use crate::limits::Limits;

/// A function of the host that binaries can call: bytes in, bytes or the reason why not out.
pub type HostFunction = Box<dyn Fn(&[u8]) -> Result<Vec<u8>, String> + Send + Sync>;

/// The host's functions by name.
#[derive(Default)]
pub struct HostFunctions(pub HashMap<String, HostFunction>);

/// Numbers of clients that are not known, above those of processes.
static CLIENTS: AtomicU64 = AtomicU64::new(1 << 32);

/// Somebody who makes one call at a time, and can be told of others' doing meanwhile.
#[derive(Debug)]
pub struct Caller {
    wake: OwnedFd,
    cancelled: AtomicBool,
    /// The client's socket. A call in progress is cancelled when its other end closes.
    line: Option<OwnedFd>,
    /// The memory of what is on its way to and from callers.
    budget: Option<Arc<Budget>>,
    client: u64,
}

impl Caller {
    /// One whose calls end when the other end of `line`, a socket, goes away.
    ///
    /// # Errors
    ///
    /// The kernel's, when there are no more descriptors.
    pub fn new(line: Option<OwnedFd>) -> std::io::Result<Self> {
        Ok(Caller {
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            cancelled: AtomicBool::new(false),
            line,
            budget: None,
            client: CLIENTS.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Be one of several callers that are the same client, whose number is a process's. Others are each a
    /// client of their own.
    #[must_use]
    pub fn of(self, client: u64) -> Self {
        Caller { client, ..self }
    }

    /// The number of its client.
    pub(crate) fn client(&self) -> u64 {
        self.client
    }

    /// Have the memory of its calls count in `budget`.
    #[must_use]
    pub fn within(self, budget: Arc<Budget>) -> Self {
        Caller {
            budget: Some(budget),
            ..self
        }
    }

    /// Return a share of the budget, if there is one.
    pub(crate) fn share(&self) -> Option<Share> {
        self.budget.as_ref().map(Budget::share)
    }

    /// End the call that is under way, or the next one, unless that calls [`Caller::begin`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Return true if its call was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Forget what was cancelled before, for a new call.
    pub fn begin(&self) {
        self.cancelled.store(false, Ordering::SeqCst);
        self.quiet();
    }

    /// Make [`Caller::wait`] return.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    fn quiet(&self) {
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
    }

    /// Wait until `other` is as wanted (true), or somebody woke this caller (false).
    ///
    /// # Errors
    ///
    /// When the call has been cancelled or its time is up.
    pub(crate) fn wait(
        &self,
        other: Option<(BorrowedFd<'_>, PollFlags)>,
        until: Instant,
    ) -> Result<bool, Failure> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let own = PollFd::new(&self.wake, PollFlags::IN);
            let mut waited = Vec::with_capacity(3);
            waited.push(own);
            if let Some((descriptor, wanted)) = other {
                waited.push(PollFd::from_borrowed_fd(descriptor, wanted));
            }
            if let Some(line) = &self.line {
                // Nothing is asked for: the kernel says by itself that the other end is gone.
                waited.push(PollFd::from_borrowed_fd(line.as_fd(), PollFlags::empty()));
            }
            let timeout = timespec(left);
            match poll(&mut waited, Some(&timeout)) {
                Ok(0) => return Err(Failure::Deadline),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(Failure::Protocol(format!("poll: {error}"))),
            }
            let happened = |index: usize| {
                waited
                    .get(index)
                    .is_some_and(|each| !each.revents().is_empty())
            };
            let line = 1 + usize::from(other.is_some());
            if self.line.is_some() && happened(line) || self.is_cancelled() {
                return Err(Failure::Cancelled);
            }
            if other.is_some() && happened(1) {
                return Ok(true);
            }
            if happened(0) {
                self.quiet();
                return Ok(false);
            }
        }
    }
}

/// Return a duration as the kernel takes it.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

/// The conditions of one call while a worker serves it.
#[derive(Clone)]
pub struct Terms {
    /// The caller that waits for it.
    pub caller: Arc<Caller>,
    /// Its deadline.
    pub until: Instant,
    /// The limits on the worker's messages.
    pub limits: Arc<Limits>,
    /// The functions that the worker may call; none for a binary that only responds.
    pub functions: Option<Arc<HostFunctions>>,
}

/// The result of one worker's attempt at a call.
#[derive(Debug)]
pub struct Attempt {
    /// From the first byte to the last of the request.
    pub send: Duration,
    /// From then to the last byte of the response.
    pub execute: Duration,
    /// True if request and response were in memory that the worker and the host share.
    pub shared: bool,
    /// The response, or why there is none.
    pub outcome: Result<Vec<u8>, Failure>,
}
