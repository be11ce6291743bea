//! How much load there is.

use crate::spec::Pace;

/// How much load, when, and from where. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Load {
    /// Connections over all threads; at least one for each.
    pub connections: usize,
    /// Worker threads.
    pub threads: usize,
    /// Thread *i* runs on `cpus[i % len]`; anywhere if empty.
    pub cpus: Vec<usize>,
    /// When requests are sent.
    pub pace: Pace,
    /// Load before the window.
    pub warmup: u64,
    /// The window.
    pub duration: u64,
    /// Load after the window.
    pub cooldown: u64,
    /// How long a connection or an answer may take, and the drain.
    pub timeout: u64,
    /// Connections opened per second; all at once if absent.
    pub ramp_per_s: Option<f64>,
    /// Seed of the arrivals.
    pub seed: u64,
}
