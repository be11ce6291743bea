//! The intended sends of an open loop.

use std::sync::Arc;

use rand_xoshiro::rand_core::Rng;

use super::log::Log;
use super::rates::Rates;
use crate::random::Random;
use crate::spec::Spread;

const SECOND: f64 = 1e9;
/// From one burst to the next, in nanoseconds.
const BURST: u64 = 1_000_000;

/// A thread's share of the intended sends: an endless, reproducible series of times.
///
/// It is also the queue: a send that is late has not been taken from it yet, so that a server which
/// falls behind costs no memory.
#[derive(Clone, Debug)]
pub struct Arrivals {
    next: u64,
    process: Process,
}

#[derive(Clone, Debug)]
enum Process {
    /// At a rate that changes: the sends so far over all threads lead to the time.
    Varying {
        rates: Arc<Rates>,
        /// Part of the rate.
        share: f64,
        sends: f64,
        threads: f64,
        grid: u64,
        /// Absent if the sends are even.
        random: Option<Box<Random>>,
    },
    Log {
        log: Log,
        index: usize,
        threads: usize,
        /// Time by which the log is late: it stands still while its target waits for its slice.
        late: u64,
        /// Slices in which it went on.
        slices: u64,
    },
    Even {
        index: u64,
        threads: u64,
        rate: f64,
        /// Sends are intended at multiples of so many nanoseconds.
        grid: u64,
    },
    Poisson {
        at: f64,
        mean_gap: f64,
        random: Box<Random>,
    },
}

impl Arrivals {
    /// The share of thread `thread` of `threads` in `rate` sends per second over all; each thread has
    /// a `random` of its own.
    pub fn new(spread: Spread, rate: f64, random: Random, thread: usize, threads: usize) -> Self {
        let process = match spread {
            Spread::Even | Spread::Bursts => Process::Even {
                index: thread as u64,
                threads: threads as u64,
                rate,
                grid: if spread == Spread::Bursts { BURST } else { 1 },
            },
            Spread::Log => unreachable!("a log is made by of_log"),
            // Poisson processes add up to one, so that each thread can have its own.
            Spread::Poisson => Process::Poisson {
                at: 0.0,
                mean_gap: SECOND * threads as f64 / rate,
                random: Box::new(random),
            },
        };
        let mut arrivals = Arrivals { next: 0, process };
        arrivals.take();
        arrivals
    }

    /// The share of a thread, by its place among so many, in a part of rates that change.
    pub fn varying(
        spread: Spread,
        (rates, share): (Arc<Rates>, f64),
        random: Random,
        (thread, threads): (usize, usize),
    ) -> Self {
        let even = spread != Spread::Poisson;
        let process = Process::Varying {
            rates,
            share,
            sends: if even { thread as f64 } else { 0.0 },
            threads: threads as f64,
            grid: if spread == Spread::Bursts { BURST } else { 1 },
            random: (!even).then(|| Box::new(random)),
        };
        let mut arrivals = Arrivals { next: 0, process };
        arrivals.take();
        arrivals
    }

    /// The share of thread `thread` of `threads` in the times of a log.
    pub fn of_log(log: Log, thread: usize, threads: usize) -> Self {
        let process = Process::Log {
            log,
            index: thread,
            threads,
            late: 0,
            slices: 0,
        };
        let mut arrivals = Arrivals { next: 0, process };
        arrivals.take();
        arrivals
    }

    /// The next intended send, in nanoseconds since the start.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Begin a slice of this `length` at `time`: a log goes on where it stood, others give up the
    /// sends that were intended until then.
    pub fn begin_slice(&mut self, time: u64, length: u64) {
        match &mut self.process {
            Process::Log { late, slices, .. } => {
                let now_late = time - *slices * length;
                self.next = match self.next {
                    u64::MAX => u64::MAX,
                    next => next - *late + now_late,
                };
                *late = now_late;
                *slices += 1;
            }
            _ => {
                while self.next <= time {
                    self.take();
                }
            }
        }
    }

    /// Take the next intended send.
    pub fn take(&mut self) -> u64 {
        let taken = self.next;
        self.next = match &mut self.process {
            Process::Varying {
                rates,
                share,
                sends,
                threads,
                grid,
                random,
            } => {
                if let Some(random) = random {
                    *sends += exponential(random) * *threads;
                }
                // A time that never comes is the largest number.
                let at = (rates.time_of(*sends / *share) * SECOND) as u64 / *grid * *grid;
                if random.is_none() {
                    *sends += *threads;
                }
                at
            }
            Process::Log {
                log,
                index,
                threads,
                late,
                ..
            } => {
                let (lap, place) = (*index / log.times.len(), *index % log.times.len());
                *index += *threads;
                match log.period {
                    None if lap > 0 => u64::MAX,
                    period => {
                        let before = (lap as u64).saturating_mul(period.unwrap_or(0));
                        let at = log.times[place].saturating_add(before);
                        at.saturating_add(*late)
                    }
                }
            }
            Process::Even {
                index,
                threads,
                rate,
                grid,
            } => {
                // From the index and not from the last send, so that rounding does not add up.
                let at = *index as f64 * SECOND / *rate;
                *index += *threads;
                at as u64 / *grid * *grid
            }
            Process::Poisson {
                at,
                mean_gap,
                random,
            } => {
                *at += exponential(random) * *mean_gap;
                *at as u64
            }
        };
        taken
    }
}

/// A number from the exponential distribution with mean 1.
fn exponential(random: &mut Random) -> f64 {
    // 53 random bits make a number in (0, 1], whose logarithm is finite.
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Use, stream};
    use proptest::prelude::*;

    fn times(spread: Spread, rate: f64, seed: u64, thread: usize, threads: usize) -> Vec<u64> {
        let random = stream(seed, thread, Use::Arrivals(0));
        let mut arrivals = Arrivals::new(spread, rate, random, thread, threads);
        (0..20_000).map(|_| arrivals.take()).collect()
    }

    #[test]
    fn even_sends_interleave_over_the_threads() {
        let mut all: Vec<u64> = (0..3)
            .flat_map(|i| times(Spread::Even, 1000.0, 1, i, 3))
            .collect();
        all.sort_unstable();
        let expected: Vec<u64> = (0..60_000).map(|k| k * 1_000_000).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn a_burst_is_all_of_a_millisecond_over_all_threads() {
        let mut all: Vec<u64> = (0..2)
            .flat_map(|i| times(Spread::Bursts, 20_500.0, 1, i, 2))
            .collect();
        all.sort_unstable();
        let second = &all[..20_500];
        assert!(second.iter().all(|at| at % 1_000_000 == 0));
        assert_eq!(all[20_500], SECOND as u64);
        let counts = second.chunk_by(|a, b| a == b).map(<[u64]>::len);
        assert!(counts.clone().all(|count| count == 20 || count == 21));
        assert_eq!(counts.count(), 1000);
    }

    #[test]
    fn a_changing_rate_has_its_sends_in_each_stretch() {
        // From 1000 to 3000 a second within ten seconds, then steady.
        let rates = Arc::new(Rates::through(&[(0.0, 1000.0), (10.0, 3000.0)]));
        for spread in [Spread::Even, Spread::Poisson, Spread::Bursts] {
            let mut all = Vec::new();
            for thread in 0..3 {
                let random = stream(8, thread, Use::Arrivals(0));
                let series = (thread, 3);
                let mut own = Arrivals::varying(spread, (rates.clone(), 0.5), random, series);
                all.extend(
                    std::iter::repeat_with(|| own.take()).take_while(|at| *at < 20_000_000_000),
                );
            }
            let within = |from: u64, to: u64| {
                let range = from * 1_000_000_000..to * 1_000_000_000;
                all.iter().filter(|at| range.contains(at)).count() as f64
            };
            for (from, to, wanted) in [
                (0, 1, 550.0),
                (9, 10, 1450.0),
                (0, 10, 10_000.0),
                (10, 20, 15_000.0),
            ] {
                let found = within(from, to);
                // Five standard deviations where the sends are at random.
                let slack = if spread == Spread::Poisson {
                    5.0 * f64::sqrt(wanted)
                } else {
                    2.0
                };
                assert!(
                    (found - wanted).abs() <= slack,
                    "{spread:?} {from} to {to}: {found}"
                );
            }
        }
    }

    #[test]
    fn a_log_s_times_are_shared_out_and_come_again() {
        let series = |period, thread, threads| {
            let log = Log {
                times: [0, 5, 5, 9].into(),
                period,
                sizes: [].into(),
            };
            let mut arrivals = Arrivals::of_log(log, thread, threads);
            (0..6).map(|_| arrivals.take()).collect::<Vec<_>>()
        };
        let end = u64::MAX;
        assert_eq!(series(None, 0, 1), [0, 5, 5, 9, end, end]);
        assert_eq!(series(None, 1, 3), [5, end, end, end, end, end]);
        assert_eq!(series(Some(10), 0, 1), [0, 5, 5, 9, 10, 15]);
        assert_eq!(series(Some(10), 2, 3), [5, 15, 20, 29, 35, 45]);
    }

    #[test]
    fn a_log_stands_still_between_slices() {
        let log = |period| Log {
            times: [0, 5, 5, 9, 12, 24].into(),
            period,
            sizes: [].into(),
        };
        let mut arrivals = Arrivals::of_log(log(Some(30)), 0, 1);
        // Slices of 10 that begin later and later; each has what the log has in so much time.
        let mut slice = |begin| {
            arrivals.begin_slice(begin, 10);
            let mut sent = Vec::new();
            while arrivals.next() < begin + 10 {
                sent.push(arrivals.take() - begin);
            }
            sent
        };
        assert_eq!(slice(100), [0, 5, 5, 9]);
        assert_eq!(slice(125), [2]);
        assert_eq!(slice(150), [4]);
        assert_eq!(slice(1000), [0, 5, 5, 9]);
        let mut once = Arrivals::of_log(log(None), 0, 1);
        (0..6).for_each(|_| {
            once.take();
        });
        once.begin_slice(7, 10);
        assert_eq!(once.next(), u64::MAX);
    }

    #[test]
    fn even_sends_do_not_drift() {
        let last = times(Spread::Even, 3000.0, 1, 0, 1)[18_000];
        assert_eq!(last, 6_000_000_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(3), ..ProptestConfig::with_cases(32) })]

        #[test]
        fn poisson_has_its_rate_and_its_spread(seed: u64, rate in 1.0..1e5f64, threads in 1usize..4) {
            let times = times(Spread::Poisson, rate, seed, threads - 1, threads);
            prop_assert!(times.is_sorted());
            let expected = SECOND * threads as f64 / rate;
            let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            // Five standard errors of 20,000 exponential gaps, and twice that for their spread.
            prop_assert!((mean / expected - 1.0).abs() < 0.036, "mean {mean}, not {expected}");
            prop_assert!((variance.sqrt() / mean - 1.0).abs() < 0.072);
        }

        #[test]
        fn a_seed_and_a_thread_make_the_series(seed: u64) {
            let series = |seed, thread| times(Spread::Poisson, 1000.0, seed, thread, 2);
            prop_assert_eq!(series(seed, 0), series(seed, 0));
            prop_assert_ne!(series(seed, 0), series(seed, 1));
            prop_assert_ne!(series(seed, 0), series(seed.wrapping_add(1), 0));
        }
    }
}
