//! Nanoseconds of a call: many calls one after the other, by the thread's own CPU time.

use std::time::{Duration, Instant};

use anyhow::Result;
use nix::time::{ClockId, clock_gettime};

use crate::case::Case;
use crate::library::{Counts, Filter};

/// Of a batch: reading the clock must not matter.
const BATCH_NS: f64 = 200_000.0;

/// Times of the calls of one case, over all batches.
pub struct Timing {
    /// The least of all batches' means.
    pub min_ns: f64,
    /// The median of them.
    pub median_ns: f64,
}

/// Asks about all cases in turns, counting what it asks and what is answered wrongly.
pub struct Clock<'a> {
    filter: Filter,
    cases: &'a [Case],
    batches: Vec<u64>,
    /// The counters that the filter should have.
    pub asked: Counts,
    /// Answers that were not right.
    pub wrong: u64,
}

impl<'a> Clock<'a> {
    /// Find out how many calls make a batch.
    pub fn new(filter: Filter, cases: &'a [Case]) -> Result<Self> {
        let mut clock = Self {
            filter,
            cases,
            batches: vec![100; cases.len()],
            asked: Counts::default(),
            wrong: 0,
        };
        for number in 0..cases.len() {
            clock.batch(number)?;
            let ns = clock.batch(number)?;
            clock.batches[number] = (BATCH_NS / ns).max(1.0) as u64;
        }
        Ok(clock)
    }

    /// Batches of all cases in turns, until the time is up.
    pub fn run(&mut self, time: Duration) -> Result<Vec<Timing>> {
        let mut taken = vec![Vec::new(); self.cases.len()];
        let begun = Instant::now();
        loop {
            for (number, taken) in taken.iter_mut().enumerate() {
                taken.push(self.batch(number)?);
            }
            if begun.elapsed() >= time {
                break;
            }
        }
        Ok(taken.into_iter().map(summary).collect())
    }

    /// The mean nanoseconds of the calls of one batch.
    fn batch(&mut self, number: usize) -> Result<f64> {
        let (case, calls) = (&self.cases[number], self.batches[number]);
        let mut accepted = 0;
        let begun = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
        for _ in 0..calls {
            // SAFETY: a path as long as it says; the library is initialised.
            accepted += unsafe { (self.filter)(case.path.as_ptr(), case.path.len()) } as u64;
        }
        let ended = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
        self.note(case, calls, accepted);
        Ok(Duration::from(ended - begun).as_nanos() as f64 / calls as f64)
    }

    /// Take down so many calls of a case, of which so many were accepted.
    pub fn note(&mut self, case: &Case, calls: u64, accepted: u64) {
        self.asked.accepted += if case.accept { calls } else { 0 };
        self.asked.rejected += if case.accept { 0 } else { calls };
        self.wrong += if case.accept {
            calls.abs_diff(accepted)
        } else {
            accepted
        };
    }
}

fn summary(mut taken: Vec<f64>) -> Timing {
    taken.sort_by(f64::total_cmp);
    let middle = taken.len() / 2;
    Timing {
        min_ns: taken[0],
        median_ns: f64::midpoint(taken[(taken.len() - 1) / 2], taken[middle]),
    }
}
