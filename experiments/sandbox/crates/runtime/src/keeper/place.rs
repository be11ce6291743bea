//! The states of a keeper's place.

use std::time::{Duration, Instant};

use crate::mode::Worker;

/// The state of a place.
pub enum State {
    /// No worker is in it.
    Empty,
    /// Its worker is not ready yet.
    Starting {
        /// The worker.
        worker: Box<dyn Worker>,
        /// The time of the decision to start it.
        since: Instant,
    },
    /// Ready, called, or about to be given back.
    Out {
        /// The worker.
        worker: Box<dyn Worker>,
        /// Until when its end is waited for, about which somebody has asked.
        asked: Option<Instant>,
    },
    /// Its worker was killed.
    Dying {
        /// The worker.
        worker: Box<dyn Worker>,
        /// The time at which it was given back.
        since: Duration,
        /// The reason why it was not ready, if that is to be looked into.
        why: Option<String>,
    },
    /// Processes that its worker left behind are being removed.
    Sweeping,
    /// Something in it cannot be removed; it is not used again.
    Lost,
}
