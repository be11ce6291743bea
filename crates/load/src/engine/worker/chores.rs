//! What a worker does by the clock and not by edges, rarely.

use super::{Slot, Worker};
use crate::engine::cpu::CpuTime;
use crate::engine::tally::Tally;
use crate::protocol::{End, Failure, Protocol};

/// How often time-outs are looked for, in nanoseconds.
const TICK: u64 = 50_000_000;

impl<P: Protocol> Worker<'_, P> {
    /// Tells the second, looks for time-outs, and finds out when to be called again.
    pub(super) fn chores(&mut self, now: u64) {
        if now >= self.timeline.start() && self.cpu_at_start.is_none() {
            self.cpu_at_start = Some(CpuTime::of_thread());
        }
        if now >= self.timeline.end() && self.cpu_at_end.is_none() {
            self.cpu_at_end = Some(CpuTime::of_thread());
        }
        if now >= self.second.end() {
            let queued = self.queued(now);
            let second = self
                .second
                .turn(self.in_flight + queued, self.tally.total.failures);
            // Nobody listens any more when the run was given up.
            let _ = self.seconds.send(second);
        }
        self.find_timeouts(now);
        let boundary = self.timeline.boundary_after(now).unwrap_or(u64::MAX);
        self.next_chore = boundary.min(self.second.end()).min(now + TICK);
    }

    /// Intended sends of the past that no connection had room for.
    fn queued(&self, now: u64) -> u64 {
        let Some(mut arrivals) = self.arrivals.clone() else {
            return 0;
        };
        let end = now.min(self.timeline.stop());
        let mut queued = 0;
        while arrivals.next() < end {
            arrivals.take();
            queued += 1;
        }
        queued
    }

    fn find_timeouts(&mut self, now: u64) {
        for slot in 0..self.slots.len() {
            let Slot {
                connection: Some(connection),
                requests,
                opened,
                ..
            } = &self.slots[slot]
            else {
                continue;
            };
            let late = |since: u64| since + self.timeout <= now;
            if requests.iter().any(|(_, request)| late(request.sent)) {
                self.close(slot, End::Broken(Failure::Timeout), now);
            } else if requests.is_empty() && self.protocol.room(connection) == 0 && late(*opened) {
                self.close(slot, End::Broken(Failure::Connect), now);
            }
        }
    }

    /// Counts what has no answer, and closes the books.
    pub(super) fn finish(mut self) -> Tally {
        let window = self.timeline.window_before(self.timeline.end());
        let mut left: Vec<u64> = Vec::new();
        for slot in &self.slots {
            left.extend(slot.requests.iter().map(|(_, request)| request.intended));
        }
        self.tally.in_flight_area += i128::from(window) * left.len() as i128;
        if let Some(arrivals) = &mut self.arrivals {
            while arrivals.next() < self.timeline.stop() {
                let intended = arrivals.take();
                self.tally.in_flight_area +=
                    i128::from(window - self.timeline.window_before(intended));
                left.push(intended);
            }
        }
        let lost = left
            .iter()
            .filter(|intended| self.timeline.in_window(**intended))
            .count() as u64;
        self.tally.offered += lost;
        self.tally.unfinished += lost;
        if let (Some(start), Some(end)) = (self.cpu_at_start, self.cpu_at_end) {
            self.tally.busiest = end.since(start).sum_s() / (window.max(1) as f64 / 1e9);
        }
        self.tally
    }
}
