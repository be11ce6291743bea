//! The order of a duel's slices: stretches of time in which one target alone gets the load.
//!
//! Every round gives each target one slice, in random order, so that drifts slower than a round
//! meet all targets alike. Between slices the requests in flight are awaited. Source of the
//! method: Bulej and others, "Duet Benchmarking", ICPE 2020, here in turns and not in parallel.

use rand_xoshiro::rand_core::Rng;

use crate::random::Random;

/// The slices of a duel. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// Length of a slice, without its drain.
    pub length: u64,
    /// Time at the beginning of a slice whose requests are not measured.
    pub lead_in: u64,
    /// Longest time between two looks of the generator at its sockets; a longer one drops the round.
    pub gap: u64,
}

/// The slice that has the load, and those that follow.
#[derive(Debug)]
pub struct Schedule {
    slices: Slices,
    /// The targets of this round, in their order.
    order: Vec<usize>,
    /// The place in the order; its length before the first slice and after the last of a round.
    place: usize,
    begin: u64,
    random: Random,
}

impl Schedule {
    /// A schedule of `targets` that has not begun.
    pub fn new(slices: Slices, targets: usize, random: Random) -> Self {
        Schedule {
            slices,
            order: (0..targets).collect(),
            place: targets,
            begin: 0,
            random,
        }
    }

    /// The time at which the slice began.
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// The time at which the slice ends.
    pub fn end(&self) -> u64 {
        match self.active() {
            Some(_) => self.begin + self.slices.length,
            None => 0,
        }
    }

    /// The first time of the slice whose requests are measured.
    pub fn measured_from(&self) -> u64 {
        self.begin + self.slices.lead_in
    }

    /// The target that has the load; none before the first slice.
    pub fn active(&self) -> Option<usize> {
        self.order.get(self.place).copied()
    }

    /// The time until which `target` may be sent requests.
    pub fn sends_until(&self, target: usize) -> u64 {
        if self.active() == Some(target) {
            self.end()
        } else {
            0
        }
    }

    /// Return true if the slice is the last of its round.
    pub fn is_last(&self) -> bool {
        self.place + 1 == self.order.len()
    }

    /// Begin the next slice at `now`; return its target.
    pub fn turn(&mut self, now: u64) -> usize {
        self.place += 1;
        if self.place >= self.order.len() {
            self.shuffle();
            self.place = 0;
        }
        self.begin = now;
        self.order[self.place]
    }

    /// Fisher and Yates.
    fn shuffle(&mut self) {
        for last in (1..self.order.len()).rev() {
            let other = (self.random.next_u64() % (last as u64 + 1)) as usize;
            self.order.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Use, stream};

    const SLICES: Slices = Slices {
        length: 1000,
        lead_in: 100,
        gap: 10,
    };

    fn schedule(targets: usize, seed: u64) -> Schedule {
        Schedule::new(SLICES, targets, stream(seed, 0, Use::Slices))
    }

    #[test]
    fn every_round_has_each_target_once() {
        for targets in 2..5 {
            let mut schedule = schedule(targets, 7);
            let mut firsts = vec![0usize; targets];
            for _ in 0..1000 {
                let mut round: Vec<usize> = (0..targets).map(|_| schedule.turn(0)).collect();
                assert!(schedule.is_last());
                firsts[round[0]] += 1;
                round.sort_unstable();
                assert_eq!(round, (0..targets).collect::<Vec<_>>());
            }
            let fair = 1000 / targets;
            assert!(
                firsts.iter().all(|count| count.abs_diff(fair) < 100),
                "{firsts:?}"
            );
        }
    }

    #[test]
    fn only_the_active_target_may_send_and_only_within_its_slice() {
        let mut schedule = schedule(2, 1);
        assert_eq!((schedule.sends_until(0), schedule.sends_until(1)), (0, 0));
        let active = schedule.turn(5000);
        assert_eq!(schedule.sends_until(active), 6000);
        assert_eq!(schedule.sends_until(1 - active), 0);
        assert_eq!(schedule.measured_from(), 5100);
        assert!(!schedule.is_last());
        assert_eq!(schedule.turn(7000), 1 - active);
        assert!(schedule.is_last());
    }

    #[test]
    fn the_seed_makes_the_order() {
        let order = |seed| {
            let mut schedule = schedule(2, seed);
            (0..64).map(|now| schedule.turn(now)).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
