//! The rare work of a worker that is due by the clock: progress, time-outs, the end.

use super::Worker;
use super::connection::ConnectionState;
use crate::engine::cpu::CpuTime;
use crate::engine::tally::{Failures, Tally};
use crate::protocol::{End, Failure, Kind, Protocol};

/// Interval between chores, in nanoseconds.
const TICK: u64 = 50_000_000;

/// The failure of a request that was in time on a connection that was not.
const GIVEN_UP: Failure = Failure::read("given up with its connection: another answer was late");

/// Connections that are checked for time-outs at a time: more would delay sends that are due.
const LOOKS: usize = 2_000;

impl<P: Protocol> Worker<'_, P> {
    /// Report the second that ended, look for time-outs, and set the time of the next call.
    pub(super) fn chores(&mut self, now: u64) {
        if now >= self.timeline.start() && self.cpu_at_start.is_none() {
            self.cpu_at_start = Some(CpuTime::of_thread());
        }
        if now >= self.timeline.end() && self.cpu_at_end.is_none() {
            self.cpu_at_end = Some(CpuTime::of_thread());
        }
        if now >= self.second.end() {
            let queued = self.queued(now);
            let failures = self.failures();
            let second = self.second.turn(self.in_flight + queued, failures);
            // Nobody listens any more when the run was given up.
            let _ = self.seconds.send(second);
        }
        self.find_timeouts(now);
        self.expire_retries(now);
        let boundary = self.timeline.boundary_after(now).unwrap_or(u64::MAX);
        self.next_chore = boundary.min(self.second.end()).min(now + TICK);
    }

    /// The failures of all targets so far.
    fn failures(&self) -> Failures {
        let mut failures = Failures::default();
        for tally in &self.tallies {
            failures.merge(&tally.total.failures);
        }
        failures
    }

    /// The number of past intended sends that no connection had room for.
    fn queued(&mut self, now: u64) -> u64 {
        let ends: Vec<u64> = (0..self.queues.len())
            .map(|target| now.min(self.sends_until(target)))
            .collect();
        let queues = self.queues.iter_mut().zip(ends);
        queues.map(|(queue, end)| queue.queued(end)).sum()
    }

    fn find_timeouts(&mut self, now: u64) {
        let connections = self.connections.len();
        for _ in 0..connections.min(LOOKS) {
            self.next_look = (self.next_look + 1) % connections;
            self.find_timeout(self.next_look, now);
        }
    }

    fn find_timeout(&mut self, id: usize, now: u64) {
        let ConnectionState {
            connection: Some(connection),
            requests,
            opened,
            ..
        } = &mut self.connections[id]
        else {
            return;
        };
        let timeouts = self.timeouts;
        let late: Vec<_> = requests
            .iter()
            .filter_map(|(request, own)| Some((request, own.late(&timeouts, now)?)))
            .collect();
        if !late.is_empty() {
            return self.give_up_late(id, &late, now);
        }
        let idle = requests.is_empty() && self.protocol.room(connection) == 0;
        if idle && *opened + timeouts.connect <= now {
            let unusable = Failure {
                kind: Kind::ConnectTimeout,
                why: self.protocol.awaited(connection),
            };
            self.close(id, End::Broken(unusable), now);
        }
    }

    /// Give up late requests of a connection, and all of it if it cannot go on without them.
    fn give_up_late(&mut self, id: usize, late: &[(usize, Failure)], now: u64) {
        let mut goes_on = true;
        for (request, failure) in late {
            if let Some(connection) = &mut self.connections[id].connection {
                goes_on &= self.protocol.cancel(connection, *request);
            }
            self.failed(id, *request, *failure, now);
        }
        if goes_on {
            self.offer(id, now);
            return self.flush(id, now);
        }
        let others = self.connections[id].requests.iter();
        let others: Vec<usize> = others.map(|(request, _)| request).collect();
        for request in others {
            self.failed(id, request, GIVEN_UP, now);
        }
        self.close(id, End::Proper, now);
    }

    /// Report the last second, count the requests without an answer, and return each target's tally.
    pub(super) fn finish(mut self, now: u64) -> Vec<Tally> {
        let failures = self.failures();
        let _ = self.seconds.send(self.second.end_at(now, failures));
        let window = self.timeline.window_before(self.timeline.end());
        let on_connections = self.connections.iter().flat_map(|state| {
            let requests = state.requests.iter();
            requests.map(|(_, request)| (state.target, request.intended))
        });
        let on_none = self
            .retries
            .iter()
            .map(|(target, request, _)| (*target, request.intended));
        for (target, intended) in on_connections.chain(on_none) {
            let in_window = self.timeline.in_window(intended);
            self.tallies[target].unanswered(window, in_window);
        }
        for target in 0..self.queues.len() {
            let end = self.sends_until(target);
            let Some(arrivals) = &mut self.queues[target].arrivals else {
                continue;
            };
            while self.left != Some(0) && arrivals.next() < end {
                let intended = arrivals.take();
                let area = window - self.timeline.window_before(intended);
                self.tallies[target].unanswered(area, self.timeline.in_window(intended));
            }
        }
        if let Some(start) = self.cpu_at_start {
            // The last request may have ended the window since the last chore.
            let end = self.cpu_at_end.unwrap_or_else(CpuTime::of_thread);
            let share = end.since(start).sum_s() / (window.max(1) as f64 / 1e9);
            self.tallies[0].busiest = share;
        }
        self.tallies
    }
}
