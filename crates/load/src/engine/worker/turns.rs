//! The turns of a worker's targets.

use super::Worker;
use crate::protocol::Protocol;

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
        if !duel.rests(now) {
            return;
        }
        duel.end();
        // Reading takes time, in which nothing is due.
        let now = self.timeline.now();
        if active.is_none() || duel.schedule.is_last() {
            let whole = duel.begin >= self.timeline.start() && now <= self.timeline.end();
            let counts = active.is_some() && whole;
            duel.close(now, counts, &mut self.tallies);
        }
        let target = duel.turn(now);
        let length = duel.schedule.end() - now;
        if let Some(queue) = self.queues.get_mut(target) {
            queue.begin_slice(now, length);
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
