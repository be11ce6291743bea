//! The requests of an access log, and the comparison of their sending with it.

use std::sync::Arc;

/// A log's times, scaled by the speed.
#[derive(Clone, Debug)]
pub struct Log {
    /// The intended sends, in nanoseconds from the first one.
    pub times: Arc<[u64]>,
    /// The time after which it begins again, in nanoseconds; it does not if absent.
    pub period: Option<u64>,
    /// The bytes of the answers' bodies by the log, by exchange.
    pub sizes: Arc<[Option<u64>]>,
}

/// The replayed requests of the window, as far as they are compared with the log.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// Intended and actual sends, in nanoseconds since the start.
    pub sends: Vec<(u64, u64)>,
    /// Bytes of bodies by the log, and as they came; of correct answers.
    pub sizes: Vec<(u64, u64)>,
}

impl Replayed {
    /// Add another thread's.
    pub fn merge(&mut self, other: &Replayed) {
        self.sends.extend_from_slice(&other.sends);
        self.sizes.extend_from_slice(&other.sizes);
    }
}
