//! The figures of each second, shown during the run.

use hdrhistogram::Histogram;

use super::tally::{Failures, histogram};

const SECOND: u64 = 1_000_000_000;

/// One second of one thread, or of all.
#[derive(Clone, Debug)]
pub struct Second {
    /// Whole seconds from the start to its beginning.
    pub index: u64,
    /// The latencies of the correct answers in it, in nanoseconds.
    pub latency: Histogram<u64>,
    /// Requests in flight at its end.
    pub in_flight: u64,
    /// Failures from the start to its end.
    pub failures: Failures,
}

impl Default for Second {
    fn default() -> Self {
        Second {
            index: 0,
            latency: histogram(),
            in_flight: 0,
            failures: Failures::default(),
        }
    }
}

impl Second {
    /// The end of the second, in nanoseconds since the start.
    pub fn end(&self) -> u64 {
        (self.index + 1) * SECOND
    }

    /// Record the latency of a correct answer, in nanoseconds.
    pub fn record(&mut self, latency: u64) {
        self.latency.saturating_record(latency);
    }

    /// End the second with these figures, and begin the next.
    pub fn turn(&mut self, in_flight: u64, failures: Failures) -> Second {
        let ended = Second {
            index: self.index,
            latency: self.latency.clone(),
            in_flight,
            failures,
        };
        self.index += 1;
        self.latency.reset();
        ended
    }
}

/// Adds up the threads' seconds.
#[derive(Debug)]
pub struct Seconds {
    threads: usize,
    sum: Second,
    reported: usize,
    early: Vec<Second>,
}

impl Seconds {
    /// Wait for the seconds of this many threads.
    pub fn new(threads: usize) -> Self {
        Seconds {
            threads,
            sum: Second::default(),
            reported: 0,
            early: Vec::new(),
        }
    }

    /// Take one thread's second; return the sum if it was the last one missing.
    pub fn add(&mut self, second: Second) -> Option<Second> {
        self.early.push(second);
        let current = self.sum.index;
        let (ready, early) = std::mem::take(&mut self.early)
            .into_iter()
            .partition(|second| second.index == current);
        self.early = early;
        let ready: Vec<Second> = ready;
        for second in ready {
            let same = self.sum.latency.add(&second.latency);
            same.expect("all histograms have the same bounds");
            self.sum.in_flight += second.in_flight;
            self.sum.failures.merge(&second.failures);
            self.reported += 1;
        }
        if self.reported < self.threads {
            return None;
        }
        self.reported = 0;
        let failures = std::mem::take(&mut self.sum.failures);
        let sum = self.sum.turn(self.sum.in_flight, failures);
        self.sum.in_flight = 0;
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_whole_when_every_thread_told() {
        let mut seconds = Seconds::new(2);
        let (mut one, mut two) = (Second::default(), Second::default());
        one.record(1000);
        assert!(seconds.add(one.turn(1, Failures::default())).is_none());
        assert!(seconds.add(one.turn(2, Failures::default())).is_none());
        two.record(3000);
        let sum = seconds
            .add(two.turn(4, Failures::default()))
            .expect("both told");
        assert_eq!((sum.index, sum.in_flight, sum.latency.len()), (0, 5, 2));
        let sum = seconds
            .add(two.turn(4, Failures::default()))
            .expect("both told");
        assert_eq!((sum.index, sum.in_flight, sum.latency.len()), (1, 6, 0));
    }
}
