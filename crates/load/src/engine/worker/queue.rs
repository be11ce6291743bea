//! Queues of connections with room that wait until they may send.

use std::collections::VecDeque;

use crate::engine::arrivals::Arrivals;

/// Delay after which a limited sender gives up the sends that no connection was free for, in
/// nanoseconds: it is a limit and no schedule, but threads learn late of what is free.
const PATIENCE: f64 = 1e6;

/// Connections in the order of their waiting, and the sends that they wait for.
#[derive(Debug)]
pub struct Queue {
    pub waiting: VecDeque<usize>,
    /// The intended sends, in an open loop.
    pub arrivals: Option<Arrivals>,
    /// The first intended send that is not counted yet, and the number of those counted.
    counted: Option<(Arrivals, u64)>,
    /// Intended sends that were taken.
    taken: u64,
}

impl Queue {
    /// An empty queue.
    pub fn new(arrivals: Option<Arrivals>) -> Self {
        Queue {
            waiting: VecDeque::new(),
            counted: arrivals.clone().map(|arrivals| (arrivals, 0)),
            arrivals,
            taken: 0,
        }
    }

    /// Take the next intended send, in an open loop.
    pub fn take(&mut self) -> Option<u64> {
        self.taken += 1;
        self.arrivals.as_mut().map(Arrivals::take)
    }

    /// Begin a slice of this `length` at `time`.
    pub fn begin_slice(&mut self, time: u64, length: u64) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.begin_slice(time, length);
            self.counted = Some((arrivals.clone(), self.taken));
        }
    }

    /// The number of intended sends before `end` that were not taken. `end` does not fall from call
    /// to call, so that a long queue is not counted from its beginning again and again.
    pub fn queued(&mut self, end: u64) -> u64 {
        let (Some(arrivals), Some((ahead, count))) = (&self.arrivals, &mut self.counted) else {
            return 0;
        };
        if *count < self.taken {
            (*ahead, *count) = (arrivals.clone(), self.taken);
        }
        while ahead.next() < end {
            ahead.take();
            *count += 1;
        }
        *count - self.taken
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
    /// The delay that is made up for.
    owed: f64,
}

impl Permits {
    /// At most `rate` sends a second.
    pub fn new(rate: f64) -> Self {
        Permits {
            gap: 1e9 / rate,
            next: 0.0,
            owed: PATIENCE,
        }
    }

    /// The time at which the next send is permitted, in nanoseconds since the start.
    pub fn next(&self) -> u64 {
        self.next as u64
    }

    /// Count a send at `now`, which must be permitted, on a connection that could have sent since
    /// `free_since`. Delays while a connection was free are the generator's doing, and made up for.
    pub fn take(&mut self, now: u64, free_since: u64) {
        self.next = self.next.max(free_since as f64 - self.owed) + self.gap;
        self.owed = PATIENCE.max(now as f64 - self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_counted_as_if_from_its_beginning() {
        use crate::random::{Use, stream};
        use crate::spec::Spread;
        let random = stream(5, 0, Use::Arrivals(0));
        let arrivals = Arrivals::new(Spread::Poisson, 1000.0, random, 0, 1);
        let mut queue = Queue::new(Some(arrivals));
        // Taken ahead of the clock, then behind it, and again.
        for (end_ms, takes) in [(0, 5), (50, 10), (50, 3), (200, 0), (300, 400), (1000, 20)] {
            let end = end_ms * 1_000_000;
            let mut copy = queue.arrivals.clone().expect("an open loop");
            let mut expected = 0;
            while copy.next() < end {
                copy.take();
                expected += 1;
            }
            assert_eq!(queue.queued(end), expected);
            (0..takes).for_each(|_| assert!(queue.take().is_some()));
        }
        assert_eq!(Queue::new(None).queued(u64::MAX), 0);
    }

    #[test]
    fn a_limit_holds_on_average_and_is_not_made_up_for() {
        let mut permits = Permits::new(1000.0);
        for now in (0..100).map(|ms| ms * 1_000_000 + 70_000) {
            assert!(
                permits.next() <= now,
                "lateness below its patience does not add up"
            );
            permits.take(now, now);
        }
        // A server that answered late: the connection was free at last.
        permits.take(10_000_000_000, 10_000_000_000);
        let mut burst = 0;
        while permits.next() <= 10_000_000_000 {
            permits.take(10_000_000_000, 10_000_000_000);
            burst += 1;
        }
        assert!(burst <= 1, "{burst} sends at once after a pause");
    }

    #[test]
    fn what_a_late_thread_missed_is_sent_while_connections_are_free() {
        let mut permits = Permits::new(10_000.0);
        let mut sent = 0;
        // The thread gets the CPU every 7 ms. Twenty connections are free then, and as many again
        // 10 µs later, since the server is quick.
        for wake in (7_000_000..=1_001_000_000).step_by(7_000_000) {
            for (round, free_since) in [wake - 6_000_000].into_iter().chain(wake..).enumerate() {
                let now = wake + round as u64 * 10_000;
                let free_since = if round == 0 { free_since } else { now };
                let due = (0..20).take_while(|_| {
                    let due = permits.next() <= now;
                    if due {
                        permits.take(now, free_since);
                    }
                    due
                });
                match due.count() {
                    0 => break,
                    count => sent += count,
                }
            }
        }
        assert!((9_900..=10_011).contains(&sent), "{sent} sends");
    }
}
