//! The choice among many objects that a request asks for.

use rand_distr::{Distribution, Zipf};
use rand_xoshiro::rand_core::Rng;

use crate::random::{Random, Use, stream};
use crate::spec::{KeySpec, Order};

/// The placeholder of the object's number in a path.
pub const PLACE: &str = "{key}";

/// One thread's series of objects.
#[derive(Clone, Debug)]
pub struct Keys {
    random: Random,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    /// There is one object only.
    One,
    Uniform(u64),
    Zipf(Zipf<f64>),
    /// The next object, how far it is to the one after that, and how many there are.
    Turns(u64, u64, u64),
}

impl Keys {
    /// The series for target `target` of a thread, which has place `thread` among `threads` that
    /// send to it; that of one object without `spec`, which was checked.
    pub fn new(
        spec: Option<KeySpec>,
        seed: u64,
        target: usize,
        (thread, threads): (usize, usize),
    ) -> Self {
        let law = match spec {
            None => Law::One,
            Some(KeySpec {
                count,
                alpha,
                order,
            }) => match (order, alpha) {
                (Order::Turns, _) => {
                    Law::Turns(thread as u64 % count, threads as u64 % count, count)
                }
                (Order::Random, None) => Law::Uniform(count),
                (Order::Random, Some(alpha)) => {
                    Law::Zipf(Zipf::new(count as f64, alpha).expect("the spec was checked"))
                }
            },
        };
        Keys {
            random: stream(seed, thread, Use::Keys(target)),
            law,
        }
    }

    /// The next object's number.
    pub fn draw(&mut self) -> u64 {
        match &mut self.law {
            Law::One => 0,
            // The product's upper half is even but for count / 2^64 (Lemire 2019).
            Law::Uniform(count) => {
                ((u128::from(self.random.next_u64()) * u128::from(*count)) >> 64) as u64
            }
            Law::Zipf(zipf) => zipf.sample(&mut self.random) as u64 - 1,
            Law::Turns(next, step, count) => {
                let own = *next;
                *next = (own + *step) % *count;
                own
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(count: u64, alpha: Option<f64>) -> KeySpec {
        let order = Order::Random;
        KeySpec {
            count,
            alpha,
            order,
        }
    }

    fn shares(alpha: Option<f64>) -> Vec<f64> {
        let mut keys = Keys::new(Some(spec(10, alpha)), 7, 0, (0, 1));
        let mut counts = vec![0.0; 10];
        for _ in 0..100_000 {
            counts[keys.draw() as usize] += 1.0 / 100_000.0;
        }
        counts
    }

    #[test]
    fn uniform_keys_are_equally_frequent() {
        // Five standard errors of a share of 0.1 in 100,000.
        assert!(shares(None).iter().all(|share| (share - 0.1).abs() < 0.005));
    }

    #[test]
    fn zipf_s_law_holds() {
        let shares = shares(Some(1.0));
        let sum: f64 = (1..=10).map(|rank| 1.0 / f64::from(rank)).sum();
        for (rank, share) in (1..).zip(shares) {
            let expected = 1.0 / f64::from(rank) / sum;
            assert!(
                (share - expected).abs() < 0.008,
                "rank {rank}: {share}, not {expected}"
            );
        }
    }

    #[test]
    fn a_seed_and_a_thread_make_the_series() {
        let series = |seed, target, thread| {
            let mut keys = Keys::new(Some(spec(1000, None)), seed, target, (thread, 2));
            (0..10).map(|_| keys.draw()).collect::<Vec<_>>()
        };
        assert_eq!(series(1, 0, 0), series(1, 0, 0));
        assert_ne!(series(1, 0, 0), series(1, 0, 1));
        assert_ne!(series(1, 0, 0), series(1, 1, 0));
        assert_ne!(series(1, 0, 0), series(2, 0, 0));
    }

    #[test]
    fn threads_take_turns_together() {
        let order = Order::Turns;
        let turns = KeySpec {
            count: 5,
            alpha: None,
            order,
        };
        let series = |thread, threads| {
            let mut keys = Keys::new(Some(turns), 1, 0, (thread, threads));
            (0..5).map(|_| keys.draw()).collect::<Vec<_>>()
        };
        assert_eq!(series(0, 1), [0, 1, 2, 3, 4]);
        assert_eq!(series(0, 2), [0, 2, 4, 1, 3]);
        assert_eq!(series(1, 2), [1, 3, 0, 2, 4]);
    }
}
