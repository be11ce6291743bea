//! A worker whose targets take turns: whose slice it is, and the answers of a round until it is
//! known whether the round counts.

use super::Worker;
use crate::engine::slices::{Schedule, Slices};
use crate::engine::tally::{Tally, Times};
use crate::protocol::Protocol;
use crate::random::Random;

/// Times of answers in a round, by target; it counts as a whole or not at all.
#[derive(Debug)]
pub struct Duel {
    pub schedule: Schedule,
    gap: u64,
    /// Times of the round's answers, and their targets.
    held: Vec<(usize, Times)>,
    /// Answers within the slices of the round, and the slices' time, by target.
    within: Vec<(u64, u64)>,
    /// True if the generator lost time in this round.
    disturbed: bool,
    /// The time at which the round began.
    begin: u64,
    /// The time of the last look at the sockets.
    looked: u64,
}

impl Duel {
    /// A duel of `targets` that has not begun.
    pub fn new(slices: Slices, targets: usize, random: Random) -> Self {
        Duel {
            schedule: Schedule::new(slices, targets, random),
            gap: slices.gap,
            held: Vec::new(),
            within: vec![(0, 0); targets],
            disturbed: false,
            begin: 0,
            looked: 0,
        }
    }

    /// Note a look at the sockets at `now`.
    pub fn look(&mut self, now: u64) {
        self.disturbed |= now - self.looked > self.gap;
        self.looked = now;
    }

    /// Keep the times of an answer that came at `now`, until the round has ended.
    pub fn hold(&mut self, target: usize, intended: u64, times: Times, now: u64) {
        if intended < self.schedule.measured_from() {
            return;
        }
        self.held.push((target, times));
        if now < self.schedule.end() {
            self.within[target].0 += 1;
        }
    }

    /// Begin a slice at `now`; return its target.
    fn turn(&mut self, now: u64) -> usize {
        let target = self.schedule.turn(now);
        self.within[target].1 += self.schedule.end() - self.schedule.measured_from();
        target
    }

    /// Begin a round at `now`; give the answers of the round before to `tallies` if it counts.
    fn close(&mut self, now: u64, counts: bool, tallies: &mut [Tally]) {
        if counts {
            let kept = counts && !self.disturbed;
            for (tally, within) in tallies.iter_mut().zip(&self.within) {
                tally.slices.end(*within, kept);
            }
            if kept {
                let held = self.held.iter();
                held.for_each(|(target, times)| tallies[*target].record(times));
            }
        }
        self.held.clear();
        self.within.fill((0, 0));
        self.disturbed = false;
        self.begin = now;
    }
}

impl<P: Protocol> Worker<'_, P> {
    /// Begin the next slice if this one has ended and all its requests are answered.
    pub(super) fn take_turns(&mut self, now: u64) {
        let Some(duel) = &mut self.duel else {
            return;
        };
        duel.look(now);
        let active = duel.schedule.active();
        let late = |target: usize| self.queues.get(target).and_then(|queue| queue.next());
        let due = active.and_then(late);
        let waits = due.is_some_and(|next| next < duel.schedule.end());
        if now < duel.schedule.end() || self.in_flight > 0 || waits || now >= self.timeline.stop() {
            return;
        }
        if active.is_none() || duel.schedule.is_last() {
            let whole = duel.begin >= self.timeline.start() && now <= self.timeline.end();
            let counts = active.is_some() && whole;
            duel.close(now, counts, &mut self.tallies);
        }
        let target = duel.turn(now);
        if let Some(queue) = self.queues.get_mut(target)
            && let Some(arrivals) = &mut queue.arrivals
        {
            arrivals.skip_to(now);
        }
        if self.at_once[target] {
            self.start(target, now);
        }
        if let Some(duel) = &mut self.duel {
            // Filling many connections takes time that was not lost.
            duel.looked = self.timeline.now();
        }
    }

    /// Let all connections to `target` send.
    fn start(&mut self, target: usize, now: u64) {
        for id in 0..self.connections.len() {
            if self.connections[id].target == target {
                self.offer(id, now);
                self.flush(id, now);
            }
        }
    }

    /// The time until which `target` may be sent requests.
    pub(super) fn sends_until(&self, target: usize) -> u64 {
        let stop = self.timeline.stop();
        match &self.duel {
            Some(duel) => stop.min(duel.schedule.sends_until(target)),
            None => stop,
        }
    }
}
