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
        /// Of the slice that begins next.
        next_slice: Box<Random>,
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
                next_slice: Box::new(random.clone()),
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

    /// Begin a slice of this `length` at `time`. A log goes on where it stood. Random sends are drawn
    /// anew: series that began with the same random numbers have the same sends in their n-th slices.
    /// Others give up the sends that were intended until then.
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
            Process::Poisson {
                at,
                random,
                next_slice,
                ..
            } => {
                // Far enough apart that no two slices have a number in common.
                next_slice.jump();
                random.clone_from(next_slice);
                *at = time as f64;
                self.take();
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
                ..
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
mod tests;
