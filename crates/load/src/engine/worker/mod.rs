//! The event loop of one thread: its share of the connections and of the rate.

mod chores;
mod line;
mod sending;
mod slot;

use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroU64;
use std::sync::mpsc::Sender;

use self::line::{Line, Permits};
use self::slot::{InFlight, Slot};
use super::cpu::CpuTime;
use super::duty::{Duty, Turns};
use super::load::Timeouts;
use super::poller::Poller;
use super::progress::Second;
use super::tally::{Tally, Times};
use super::timeline::Timeline;
use crate::protocol::{Answer, End, Event, Failure, Protocol, Reading};
use crate::random::Random;
use crate::spec::{Think, Wait};
use rustix::thread::set_current_timer_slack;

/// Pause before a connection that never carried an answer is opened again, in nanoseconds.
const RETRY: u64 = 100_000_000;

/// Time before an intended send during which the thread polls instead of sleeping, in nanoseconds:
/// waking up takes a virtual CPU about 50 µs. Only an open loop spins; a closed one has nothing
/// due.
const SPIN: u64 = 100_000;

/// Failed connections in a row after which the worker no longer waits for its number of requests.
const HOPELESS: usize = 50;

const UNANSWERED: Failure = Failure::read("closed before the answer");

/// An action that is due at some time for one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    Open,
    Think,
    Timer,
}

/// One thread's load.
pub struct Worker<'a, P: Protocol> {
    protocol: P,
    timeline: &'a Timeline,
    timeouts: Timeouts,
    poller: Poller,
    slots: Vec<Slot<P::Connection>>,
    /// Times, slots and actions that are due; at most one timer per slot.
    alarms: BTreeSet<(u64, usize, Alarm)>,
    /// Queues of connections with room; empty if they need not wait for a turn.
    lines: Vec<Line>,
    permits: Option<Permits>,
    /// Most requests in flight.
    most: u64,
    /// True if requests have intended sends, by target.
    intends: Vec<bool>,
    /// True if connections send as soon as they are free, by target.
    at_once: Vec<bool>,
    /// Time before an intended send at which the thread stops sleeping, in nanoseconds.
    spin: u64,
    think: Option<(Think, Random)>,
    /// Requests that a connection carries.
    per_connection: u64,
    /// Requests still to be sent in the window.
    left: Option<u64>,
    in_flight: u64,
    /// Connections that failed since one was made.
    refused: usize,
    events: Vec<Event>,
    tallies: Vec<Tally>,
    second: Second,
    seconds: Sender<Second>,
    next_chore: u64,
    /// The connection that was last looked at for time-outs.
    next_look: usize,
    cpu_at_start: Option<CpuTime>,
    cpu_at_end: Option<CpuTime>,
}

impl<'a, P: Protocol> Worker<'a, P> {
    /// A thread's load on this number of `targets`.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new(
        protocol: P,
        timeline: &'a Timeline,
        duty: Duty,
        targets: usize,
        seconds: Sender<Second>,
    ) -> io::Result<Self> {
        let opening = |(slot, (at, _)): (usize, &(u64, usize))| (*at, slot, Alarm::Open);
        let alarms = duty.openings.iter().enumerate().map(opening).collect();
        let slots = duty.openings.iter().map(|(_, target)| Slot::new(*target));
        let (mut most, mut permits, mut spin) = (u64::MAX, None, 0);
        let (mut intends, mut at_once) = (vec![false; targets], vec![false; targets]);
        let lines = match duty.turns {
            Turns::AtOnce => {
                at_once.fill(true);
                Vec::new()
            }
            Turns::Limited { limit, most: cap } => {
                (most, permits) = (cap, limit.map(Permits::new));
                vec![Line::new(None)]
            }
            Turns::Intended(arrivals, wait) => {
                intends = arrivals.iter().map(Option::is_some).collect();
                at_once = arrivals.iter().map(Option::is_none).collect();
                spin = if wait == Wait::Spin { SPIN } else { 0 };
                arrivals.into_iter().map(Line::new).collect()
            }
        };
        Ok(Worker {
            protocol,
            timeline,
            timeouts: duty.timeouts,
            poller: Poller::new()?,
            slots: slots.collect(),
            alarms,
            lines,
            permits,
            most,
            intends,
            at_once,
            spin,
            think: duty.think,
            per_connection: duty.per_connection.unwrap_or(u64::MAX),
            left: duty.requests,
            in_flight: 0,
            refused: 0,
            events: Vec::new(),
            tallies: vec![Tally::default(); targets],
            second: Second::default(),
            seconds,
            next_chore: 0,
            next_look: 0,
            cpu_at_start: None,
            cpu_at_end: None,
        })
    }

    /// Make the load to its end; return each target's tally.
    ///
    /// # Errors
    /// When the kernel refuses to poll.
    pub fn run(mut self) -> io::Result<Vec<Tally>> {
        // A sleep ends when it should, not up to 50 µs later.
        set_current_timer_slack(NonZeroU64::new(1))?;
        let mut now = self.timeline.now();
        if self.left == Some(0) {
            self.timeline.finish();
        }
        loop {
            if now >= self.next_chore {
                self.chores(now);
            }
            if now >= self.timeline.stop() && (self.is_done(now) || now >= self.timeline.deadline())
            {
                return Ok(self.finish());
            }
            self.ring(now)?;
            self.send_due(now);
            let edges = self.poller.wait(self.next_wake().saturating_sub(now))?;
            for edge in 0..edges {
                let (slot, hangup) = self.poller.edge(edge);
                now = self.on_edge(slot, hangup)?;
                self.send_due(now);
            }
            // A closed loop has nothing due by the clock, so that the last edge's time will do.
            if edges == 0 || !self.lines.is_empty() {
                now = self.timeline.now();
            }
        }
    }

    /// Return true if every request intended before the stop has been answered.
    fn is_done(&self, now: u64) -> bool {
        self.in_flight == 0 && !self.wants_more(now)
    }

    /// Return true if requests are left to send; otherwise no connection is needed.
    fn wants_more(&self, now: u64) -> bool {
        let stop = self.timeline.stop();
        let waiting = |line: &Line| line.next().is_some_and(|next| next < stop);
        self.left != Some(0) && (now < stop || self.lines.iter().any(waiting))
    }

    fn next_wake(&self) -> u64 {
        let alarm = self.alarms.first().map(|(at, ..)| *at);
        let others = alarm.into_iter().chain(self.next_send());
        others.fold(self.next_chore, u64::min)
    }

    /// Run the alarms that are due.
    fn ring(&mut self, now: u64) -> io::Result<()> {
        while let Some((at, slot, alarm)) = self.alarms.first().copied() {
            if at > now {
                break;
            }
            self.alarms.pop_first();
            match alarm {
                Alarm::Open if self.wants_more(now) => self.open(slot, now)?,
                Alarm::Open => {}
                Alarm::Think if self.slots[slot].thinks_until == at => {
                    self.offer(slot, now);
                    self.flush(slot, now);
                }
                Alarm::Think => {}
                Alarm::Timer => self.on_timer(slot, now),
            }
        }
        Ok(())
    }

    fn open(&mut self, slot: usize, now: u64) -> io::Result<()> {
        let place = &mut self.slots[slot];
        place.proved = false;
        place.carried = 0;
        place.opened = now;
        match self.protocol.open(place.target) {
            Ok(connection) => {
                self.poller.add(&connection, slot)?;
                place.connection = Some(connection);
                self.flush(slot, now);
            }
            Err(end) => self.close(slot, end, now),
        }
        Ok(())
    }

    /// Let a connection continue after an edge; return the time of its answers.
    fn on_edge(&mut self, slot: usize, hangup: bool) -> io::Result<u64> {
        let Some(connection) = &mut self.slots[slot].connection else {
            return Ok(self.timeline.now());
        };
        let outcome = self.protocol.ready(connection, hangup, &mut self.events);
        let now = self.timeline.now();
        if outcome == Ok(Reading::More) {
            self.poller.rearm(connection, slot)?;
        }
        self.go_on(slot, outcome.map(|_| ()), now);
        Ok(now)
    }

    fn on_timer(&mut self, slot: usize, now: u64) {
        self.slots[slot].timer = None;
        if let Some(connection) = &mut self.slots[slot].connection {
            let outcome = self.protocol.expire(connection, &mut self.events);
            self.go_on(slot, outcome, now);
        }
    }

    /// Record what happened on a connection, and send more requests.
    fn go_on(&mut self, slot: usize, outcome: Result<(), End>, now: u64) {
        for index in 0..self.events.len() {
            self.happened(slot, self.events[index], now);
        }
        self.events.clear();
        match outcome {
            Ok(()) => {
                self.offer(slot, now);
                self.flush(slot, now);
            }
            Err(end) => self.close(slot, end, now),
        }
    }

    fn happened(&mut self, slot: usize, event: Event, now: u64) {
        let place = &mut self.slots[slot];
        let tally = &mut self.tallies[place.target];
        match event {
            Event::Connected => {
                tally.connect.saturating_record(now - place.opened);
                place.connected = now;
                self.refused = 0;
            }
            Event::Secured => tally.handshake.saturating_record(now - place.connected),
            Event::Begun(request) => {
                if let Some(request) = place.requests.get_mut(request) {
                    request.begun = Some(now);
                }
            }
            Event::Answered(answer) => self.answered(slot, answer, now),
            Event::Failed(request, failure) => self.failed(slot, request, failure, now),
        }
    }

    fn answered(&mut self, slot: usize, answer: Answer, now: u64) {
        let place = &mut self.slots[slot];
        let request = place.requests.remove(answer.request);
        place.proved = true;
        let target = place.target;
        if place.requests.is_empty()
            && let Some((think, random)) = &mut self.think
        {
            place.thinks_until = now + think.draw(random);
            self.alarms.insert((place.thinks_until, slot, Alarm::Think));
        }
        let in_window = self.settled(&request, target, now);
        let times = Times {
            latency: now - request.intended,
            service: now - request.sent,
            ttfb: request.begun.unwrap_or(now) - request.sent,
        };
        self.tallies[target].answer(&answer, &times, in_window);
        if answer.failure.is_none() {
            self.tallies[target].answered += u64::from(self.timeline.in_window(now));
            self.second.record(times.latency);
        }
    }

    /// Count a request that failed without its connection.
    fn failed(&mut self, slot: usize, request: usize, failure: Failure, now: u64) {
        let target = self.slots[slot].target;
        let request = self.slots[slot].requests.remove(request);
        self.lost(&request, target, failure, now);
    }

    fn lost(&mut self, request: &InFlight, target: usize, failure: Failure, now: u64) {
        let in_window = self.settled(request, target, now);
        self.tallies[target].offered += u64::from(in_window);
        self.tallies[target].failure(failure, in_window);
    }

    /// Take a request out of flight; return true if it belongs to the window.
    fn settled(&mut self, request: &InFlight, target: usize, now: u64) -> bool {
        self.in_flight -= 1;
        self.tallies[target].in_flight_area += i128::from(self.timeline.window_before(now));
        let decisive = if self.intends[target] {
            request.intended
        } else {
            now
        };
        let in_window = self.timeline.in_window(decisive);
        if self.in_flight == 0 && self.left == Some(0) {
            self.timeline.finish();
        }
        in_window
    }

    /// Close a connection, fail the requests in flight on it, and plan to open it again.
    fn close(&mut self, slot: usize, end: End, now: u64) {
        self.set_timer(slot, None);
        let place = &mut self.slots[slot];
        place.connection = None;
        let target = place.target;
        let again = if place.proved { now } else { now + RETRY };
        self.alarms.insert((again, slot, Alarm::Open));
        let lost = std::mem::take(&mut place.requests);
        let failure = match end {
            End::Broken(failure) => failure,
            End::Proper => UNANSWERED,
        };
        if lost.is_empty() && end != End::Proper {
            let in_window = self.timeline.in_window(now);
            self.tallies[target].failure(failure, in_window);
            self.refused += 1;
            if self.refused > HOPELESS + self.slots.len() && self.left.is_some_and(|left| left > 0)
            {
                self.left = Some(0);
                if self.in_flight == 0 {
                    self.timeline.finish();
                }
            }
        }
        for (_, request) in lost {
            self.lost(&request, target, failure, now);
        }
    }
}
