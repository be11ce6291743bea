//! The choice of the next request among those of a target.

use std::sync::Arc;

use rand_xoshiro::rand_core::Rng;

use crate::protocol::ExchangeId;
use crate::random::{Random, Use, stream};

/// The rule by which a target's next request is chosen.
#[derive(Clone, Debug)]
pub enum Choice {
    /// It is always the same.
    Sole(ExchangeId),
    /// At random: the first exchange, and the sums of the weights up to each of those from there.
    Weighted(ExchangeId, Arc<[f64]>),
    /// One after the other, and again from the first after the last.
    Turns(Arc<[ExchangeId]>),
}

/// One thread's series of requests to one target.
#[derive(Debug)]
pub struct Picks {
    choice: Choice,
    random: Random,
    next: usize,
    step: usize,
}

impl Picks {
    /// The series by `choice` of the thread with this number. Of the threads that send to the target,
    /// this one has `place` among `threads`, so that they take turns together.
    ///
    /// The random numbers are the same for each target: targets of one choice get the same series.
    pub fn new(choice: Choice, seed: u64, thread: usize, (place, threads): (usize, usize)) -> Self {
        Picks {
            choice,
            random: stream(seed, thread, Use::Picks),
            next: place,
            step: threads,
        }
    }

    /// The next request's exchange.
    pub fn take(&mut self) -> ExchangeId {
        match &self.choice {
            Choice::Sole(exchange) => *exchange,
            Choice::Weighted(first, sums) => {
                let share = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                let sum = sums.last().copied().unwrap_or(0.0);
                let index = sums.partition_point(|upto| *upto <= share * sum);
                // A product that is rounded up may reach the sum.
                first + index.min(sums.len() - 1) as ExchangeId
            }
            Choice::Turns(series) => {
                let exchange = series[self.next % series.len()];
                self.next = self.next.wrapping_add(self.step) % series.len();
                exchange
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(choice: &Choice, seed: u64, place: usize, threads: usize, count: usize) -> Vec<u32> {
        let mut picks = Picks::new(choice.clone(), seed, place, (place, threads));
        (0..count).map(|_| picks.take()).collect()
    }

    #[test]
    fn weights_are_shares() {
        let choice = Choice::Weighted(5, [3.0, 4.0, 10.0].into());
        let picks = series(&choice, 1, 0, 1, 100_000);
        for (exchange, share) in [(5, 0.3), (6, 0.1), (7, 0.6)] {
            let found = picks.iter().filter(|pick| **pick == exchange).count() as f64 / 1e5;
            // Five standard errors of a share of 0.5 in 100,000.
            assert!((found - share).abs() < 0.008, "{exchange}: {found}");
        }
        assert_eq!(series(&choice, 1, 0, 1, 50), picks[..50]);
        assert_ne!(series(&choice, 2, 0, 1, 50), picks[..50]);
    }

    #[test]
    fn threads_take_turns_together() {
        let choice = Choice::Turns([9, 8, 7, 9, 6].into());
        assert_eq!(series(&choice, 1, 0, 1, 6), [9, 8, 7, 9, 6, 9]);
        assert_eq!(series(&choice, 1, 0, 2, 5), [9, 7, 6, 8, 9]);
        assert_eq!(series(&choice, 1, 1, 2, 5), [8, 9, 9, 7, 6]);
        // More threads than requests.
        assert_eq!(series(&choice, 1, 6, 7, 3), [8, 9, 9]);
        assert_eq!(series(&Choice::Sole(4), 1, 0, 1, 2), [4, 4]);
    }
}
