//! Queues of connections with room that wait until they may send.

use std::collections::VecDeque;

use crate::engine::arrivals::Arrivals;

/// Delay after which a limited sender gives up the sends that it missed, in nanoseconds: it is a
/// limit and no schedule, but threads wake up late.
const PATIENCE: f64 = 1e6;

/// Connections in the order of their waiting, and the sends that they wait for.
#[derive(Debug)]
pub struct Queue {
    pub waiting: VecDeque<usize>,
    /// The intended sends, in an open loop.
    pub arrivals: Option<Arrivals>,
}

impl Queue {
    /// An empty queue.
    pub fn new(arrivals: Option<Arrivals>) -> Self {
        Queue {
            waiting: VecDeque::new(),
            arrivals,
        }
    }

    /// The next intended send.
    pub fn next(&self) -> Option<u64> {
        self.arrivals.as_ref().map(Arrivals::next)
    }
}

/// A limit of sends per second.
#[derive(Clone, Copy, Debug)]
pub struct Permits {
    gap: f64,
    next: f64,
}

impl Permits {
    /// At most `rate` sends a second.
    pub fn new(rate: f64) -> Self {
        Permits {
            gap: 1e9 / rate,
            next: 0.0,
        }
    }

    /// The time at which the next send is permitted, in nanoseconds since the start.
    pub fn next(&self) -> u64 {
        self.next as u64
    }

    /// Count a send at `now`, which must be permitted.
    pub fn take(&mut self, now: u64) {
        self.next = self.next.max(now as f64 - PATIENCE) + self.gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_on_average_and_is_not_made_up_for() {
        let mut permits = Permits::new(1000.0);
        for now in (0..100).map(|ms| ms * 1_000_000 + 70_000) {
            assert!(
                permits.next() <= now,
                "lateness below its patience does not add up"
            );
            permits.take(now);
        }
        permits.take(10_000_000_000);
        let mut burst = 0;
        while permits.next() <= 10_000_000_000 {
            permits.take(10_000_000_000);
            burst += 1;
        }
        assert!(burst <= 1, "{burst} sends at once after a pause");
    }
}
