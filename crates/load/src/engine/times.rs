//! The times of single requests, kept to be looked at one by one.

/// Answers whose times a thread keeps for a target at most: 64 MB.
pub const MOST: usize = 1 << 20;

/// The times of one answered request, in nanoseconds since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The generator's own port; 0 where there is none, as with a Unix socket.
    pub port: u16,
    /// The time at which its connection was begun.
    pub opened: u64,
    /// The time at which its connection's transport was connected.
    pub connected: u64,
    /// The time at which it should have been sent.
    pub intended: u64,
    /// The time at which it was sent.
    pub sent: u64,
    /// The time of its answer's last byte.
    pub answered: u64,
    /// The places in the connection's bytes at which it and its answer end; 0 where answers come
    /// one after the other.
    pub ends: [u64; 2],
}

/// The answers of a target, in the order in which they came on each thread.
#[derive(Clone, Debug, Default)]
pub struct TimedAnswers {
    /// Those that are kept.
    pub kept: Vec<Timed>,
    /// The number of those that found no room.
    pub dropped: u64,
}

impl TimedAnswers {
    /// Keep one more.
    pub fn push(&mut self, timed: Timed) {
        if self.kept.len() == MOST {
            self.dropped += 1;
        } else {
            self.kept.push(timed);
        }
    }

    /// Add another thread's.
    pub fn merge(&mut self, other: &TimedAnswers) {
        self.kept.extend_from_slice(&other.kept);
        self.dropped += other.dropped;
    }
}
