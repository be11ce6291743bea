//! Messages between those who take calls and the keepers of their workers.

use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::callee::Callee;
use crate::failure::Failure;

/// A message to a keeper about one of its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The worker has served its call, or never will; since when, by [`now`].
    Spent {
        /// The place.
        place: usize,
        /// The time.
        since: Duration,
    },
    /// Find out how the worker ended, which closed its socket. [`Event::Ended`] follows.
    Why {
        /// The place.
        place: usize,
    },
    /// Let the worker run on, which was frozen and is called now.
    Thaw {
        /// The place.
        place: usize,
    },
}

/// A worker that was collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// From the time at which it was given back.
    pub time: Duration,
    /// CPU time that it used, in microseconds.
    pub cpu_us: u64,
}

/// A message from a keeper.
pub enum Event {
    /// A worker is ready, so long after the decision to start it.
    Ready {
        /// Its place at its keeper.
        place: usize,
        /// Its end for a call.
        callee: Callee,
        /// From the decision to start it.
        refill: Duration,
        /// The last worker that was collected before, unless that has been said.
        reaped: Option<Reaped>,
    },
    /// A worker is ready, and its end for a call got lost: this process can have no more descriptors.
    Unreachable {
        /// Its place at its keeper.
        place: usize,
    },
    /// A worker was collected.
    Reaped(Reaped),
    /// A worker could not be started, or never got ready.
    Failed,
    /// No worker gets ready for now; why, in words.
    Hopeless(String),
    /// A worker's standard error, which is to be kept.
    Log(OwnedFd),
    /// The answer to [`Order::Why`].
    Ended {
        /// Its place.
        place: usize,
        /// The worker's end.
        how: Failure,
    },
}

/// The time on the clock that all processes of a machine share.
pub fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
