//! The outcomes of a worker's requests, counted and timed.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use rustix::net::getsockname;

use super::connection::InFlight;
use super::{Alarm, Worker};
use crate::engine::tally::Times;
use crate::engine::times::Timed;
use crate::protocol::{Answer, Event, Failure, Protocol};

impl<P: Protocol> Worker<'_, P> {
    /// Record an event of a connection.
    pub(super) fn happened(&mut self, id: usize, event: Event, now: u64) {
        let state = &mut self.connections[id];
        let tally = &mut self.tallies[state.target];
        match event {
            Event::Connected => {
                tally.connect.saturating_record(now - state.opened);
                state.connected = now;
                if self.keeps_times {
                    state.port = state.connection.as_ref().map_or(0, port);
                }
            }
            Event::Secured => tally.handshake.saturating_record(now - state.connected),
            Event::Begun(request) => {
                if let Some(request) = state.requests.get_mut(request) {
                    request.begun = Some(now);
                }
            }
            Event::Answered(answer) => self.answered(id, answer, now),
            Event::Failed(request, failure) => self.failed(id, request, failure, now),
            Event::Refused(request, failure) => self.refused(id, request, failure, now),
        }
    }

    /// Note that a connection can be used; return false if it came too late for that.
    pub(super) fn came_in_time(&mut self, id: usize, now: u64) -> bool {
        let state = &mut self.connections[id];
        let Some(connection) = &state.connection else {
            return true;
        };
        if !state.usable && self.protocol.room(connection) > 0 {
            state.usable = now < state.opened + self.timeouts.connect;
            return state.usable;
        }
        true
    }

    fn answered(&mut self, id: usize, mut answer: Answer, now: u64) {
        let state = &mut self.connections[id];
        let request = state.requests.remove(answer.request);
        // Time-outs are looked for at intervals: one may be over already.
        answer.failure = request.late(&self.timeouts, now).or(answer.failure);
        state.proved = true;
        self.heard = now;
        let target = state.target;
        if self.keeps_times {
            self.tallies[target].times.push(Timed {
                port: state.port,
                opened: state.opened,
                connected: state.connected,
                intended: request.intended,
                sent: request.sent,
                answered: now,
                // Answers that come one after the other need no places.
                ends: [if answer.end == 0 { 0 } else { request.end }, answer.end],
            });
        }
        if state.requests.is_empty()
            && let Some((think, random)) = &mut self.think
        {
            state.thinks_until = now + think.draw(random);
            self.alarms.insert((state.thinks_until, id, Alarm::Think));
        }
        let in_window = self.settled(&request, target, now);
        let times = Times {
            latency: now - request.intended,
            service: now - request.sent,
            ttfb: request.begun.unwrap_or(now) - request.sent,
        };
        if self.tallies[target].answer(&answer, in_window) {
            match &mut self.duel {
                Some(duel) => duel.hold(target, request.intended, times),
                None => self.tallies[target].record(&times),
            }
        }
        if let Some(sizes) = &self.logged_sizes
            && let Some(logged) = sizes[request.exchange as usize]
            && in_window
            && answer.failure.is_none()
        {
            let pair = (logged, answer.body);
            self.tallies[target].replayed.sizes.push(pair);
        }
        let came = match self.intends[target] {
            true => self.timeline.in_window(now),
            false => in_window,
        };
        self.tallies[target].came += u64::from(came);
        if answer.failure.is_none() {
            if let Some(duel) = &mut self.duel {
                duel.count(target);
            }
            self.tallies[target].answered += u64::from(came);
            self.second.record(times.latency);
        }
    }

    /// Count a request that failed without its connection.
    pub(super) fn failed(&mut self, id: usize, request: usize, failure: Failure, now: u64) {
        let target = self.connections[id].target;
        let request = self.connections[id].requests.remove(request);
        self.lost(&request, target, failure, now);
    }

    pub(super) fn lost(&mut self, request: &InFlight, target: usize, failure: Failure, now: u64) {
        if self.is_silent(now) {
            self.give_up();
        }
        let in_window = self.settled(request, target, now);
        self.tallies[target].offered += u64::from(in_window);
        self.tallies[target].failure(failure, in_window);
    }

    /// Return true if nothing was answered for too long to send the rest of a fixed number of requests.
    pub(super) fn is_silent(&self, now: u64) -> bool {
        now.saturating_sub(self.heard) >= self.timeouts.silence
    }

    /// Send no more requests, if their number is fixed.
    pub(super) fn give_up(&mut self) {
        if self.left.is_some_and(|left| left > 0) {
            self.left = Some(0);
            if self.in_flight == 0 {
                self.timeline.finish();
            }
        }
    }

    /// Take a request out of flight; return true if it belongs to the window.
    fn settled(&mut self, request: &InFlight, target: usize, now: u64) -> bool {
        if self.in_flight == self.most {
            self.room_since = now;
        }
        self.in_flight -= 1;
        self.tallies[target].in_flight_area += i128::from(self.timeline.window_before(now));
        let decisive = if self.intends[target] {
            request.intended
        } else {
            now
        };
        // A fixed number is that of the requests which were sent in the window.
        let counts = self.left.is_none() || request.intended >= self.timeline.start();
        let in_window = counts && self.timeline.in_window(decisive);
        if self.in_flight == 0 && self.left == Some(0) {
            self.timeline.finish();
        }
        in_window
    }
}

/// The local port of a connection; 0 if it has none.
fn port(connection: &impl AsFd) -> u16 {
    let own = getsockname(connection).ok();
    let own = own.and_then(|address| SocketAddr::try_from(address).ok());
    own.map_or(0, |address| address.port())
}
