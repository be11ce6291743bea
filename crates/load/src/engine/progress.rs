//! The figures of each second, shown during the run.

use hdrhistogram::Histogram;

use super::tally::{Failures, histogram};

const SECOND: u64 = 1_000_000_000;

/// One second of one thread, or of all.
#[derive(Clone, Debug)]
pub struct Second {
    /// Whole seconds from the start to its beginning.
    pub index: u64,
    /// Its length in nanoseconds: a second, unless it is the last.
    pub length: u64,
    /// True if the thread, or the run, ends with it.
    pub last: bool,
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
            length: SECOND,
            last: false,
            latency: histogram(),
            in_flight: 0,
            failures: Failures::default(),
        }
    }
}

impl Second {
    /// The beginning of the second, in nanoseconds since the start.
    pub fn begin(&self) -> u64 {
        self.index * SECOND
    }

    /// Return true if it is not the part of a second with which a thread ends.
    pub fn is_whole(&self) -> bool {
        self.length == SECOND
    }

    /// The end of the second, in nanoseconds since the start.
    pub fn end(&self) -> u64 {
        self.begin() + self.length
    }

    /// Record the latency of a correct answer, in nanoseconds.
    pub fn record(&mut self, latency: u64) {
        self.latency.saturating_record(latency);
    }

    /// End the second with these figures, and begin the next.
    pub fn turn(&mut self, in_flight: u64, failures: Failures) -> Second {
        let ended = Second {
            index: self.index,
            length: self.length,
            last: self.last,
            latency: self.latency.clone(),
            in_flight,
            failures,
        };
        self.index += 1;
        self.length = SECOND;
        self.latency.reset();
        ended
    }

    /// End the thread's last second at `now`, in nanoseconds since the start.
    pub fn end_at(&mut self, now: u64, failures: Failures) -> Second {
        self.length = now.saturating_sub(self.index * SECOND);
        self.last = true;
        self.turn(0, failures)
    }
}

/// Adds up the threads' seconds.
#[derive(Debug)]
pub struct Seconds {
    /// Threads that report the second under way.
    threads: usize,
    sum: Second,
    reported: usize,
    early: Vec<Second>,
    /// Threads whose last second is the one under way.
    leaving: usize,
    /// Failures of the threads that have ended.
    ended: Failures,
}

impl Seconds {
    /// Wait for the seconds of this many threads.
    pub fn new(threads: usize) -> Self {
        Seconds {
            threads,
            sum: Second::default(),
            reported: 0,
            early: Vec::new(),
            leaving: 0,
            ended: Failures::default(),
        }
    }

    /// Take one thread's second; return the sums for which it was the last one missing.
    pub fn add(&mut self, second: Second) -> Vec<Second> {
        self.early.push(second);
        let mut whole = Vec::new();
        loop {
            let current = self.sum.index;
            let (ready, early): (Vec<_>, _) = std::mem::take(&mut self.early)
                .into_iter()
                .partition(|second| second.index == current);
            self.early = early;
            ready.into_iter().for_each(|second| self.merge(&second));
            if self.reported < self.threads || self.threads == 0 {
                return whole;
            }
            self.threads -= std::mem::take(&mut self.leaving);
            self.reported = 0;
            self.sum.last = self.threads == 0;
            let failures = std::mem::replace(&mut self.sum.failures, self.ended.clone());
            whole.push(self.sum.turn(self.sum.in_flight, failures));
            self.sum.in_flight = 0;
        }
    }

    fn merge(&mut self, second: &Second) {
        let same = self.sum.latency.add(&second.latency);
        same.expect("all histograms have the same bounds");
        self.sum.length = match self.reported {
            0 => second.length,
            _ => self.sum.length.max(second.length),
        };
        self.sum.in_flight += second.in_flight;
        self.sum.failures.merge(&second.failures);
        self.reported += 1;
        if second.last {
            self.leaving += 1;
            self.ended.merge(&second.failures);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(count: u64) -> Failures {
        let mut failures = Failures::default();
        (0..count).for_each(|_| failures.add(crate::protocol::Failure::read("cut")));
        failures
    }

    #[test]
    fn a_second_is_whole_when_every_thread_told() {
        let mut seconds = Seconds::new(2);
        let (mut one, mut two) = (Second::default(), Second::default());
        one.record(1000);
        assert!(seconds.add(one.turn(1, failures(0))).is_empty());
        assert!(seconds.add(one.turn(2, failures(0))).is_empty());
        two.record(3000);
        for (index, in_flight, count) in [(0, 5, 2), (1, 6, 0)] {
            let sums = seconds.add(two.turn(4, failures(0)));
            let [sum] = &sums[..] else { panic!("{sums:?}") };
            let found = (sum.index, sum.in_flight, sum.latency.len());
            assert_eq!(found, (index, in_flight, count));
        }
    }

    #[test]
    fn threads_end_at_different_times() {
        let mut seconds = Seconds::new(2);
        let (mut one, mut two) = (Second::default(), Second::default());
        two.record(7);
        assert!(seconds.add(two.turn(1, failures(2))).is_empty());
        two.record(7);
        two.record(7);
        assert!(
            seconds
                .add(two.end_at(1_250_000_000, failures(3)))
                .is_empty()
        );
        one.record(9);
        let sums = seconds.add(one.end_at(300_000_000, failures(1)));
        let told = |sum: &Second| (sum.end(), sum.latency.len(), sum.failures.sum(), sum.last);
        let told: Vec<_> = sums.iter().map(told).collect();
        assert_eq!(
            told,
            [(1_000_000_000, 2, 3, false), (1_250_000_000, 2, 4, true)]
        );
    }
}
