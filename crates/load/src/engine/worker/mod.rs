//! The event loop of one thread: its share of the connections and of the rate.

mod chores;
mod connection;
mod duel;
mod outcomes;
mod queue;
mod retries;
mod sending;
mod turns;

use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use self::connection::{ConnectionState, Retries};
use self::duel::Duel;
use self::queue::{Permits, Queue};
use super::cpu::CpuTime;
use super::duty::{Duty, Turns};
use super::load::Timeouts;
use super::picks::Picks;
use super::poller::Poller;
use super::progress::Second;
use super::tally::Tally;
use super::timeline::Timeline;
use crate::protocol::{End, Event, Failure, Kind, Protocol, Reading};
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

const UNWATCHED: End = End::Broken(Failure::connect("the kernel watches no more sockets"));

const LATE: End = End::Broken(Failure {
    kind: Kind::ConnectTimeout,
    why: "usable only after its time limit",
});

const UNANSWERED: Failure = Failure::read("closed before the answer");

/// An action that is due at some time for one connection.
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
    connections: Vec<ConnectionState<P::Connection>>,
    /// Times, connections and actions that are due; at most one timer per connection.
    alarms: BTreeSet<(u64, usize, Alarm)>,
    /// Queues of connections with room; empty if they need not wait for a turn.
    queues: Vec<Queue>,
    permits: Option<Permits>,
    /// Most requests in flight.
    most: u64,
    /// The time since which there are fewer.
    room_since: u64,
    /// True if requests have intended sends, by target.
    intends: Vec<bool>,
    /// True if connections send as soon as they are free, by target.
    at_once: Vec<bool>,
    /// Time before an intended send at which the thread stops sleeping, in nanoseconds.
    spin: u64,
    think: Option<(Think, Random)>,
    /// The turns of the targets, if not all are loaded at once.
    duel: Option<Duel>,
    /// The requests, by target.
    picks: Vec<Picks>,
    /// The sizes of answers by the log that is replayed, by exchange.
    logged_sizes: Option<Arc<[Option<u64>]>>,
    /// True if the times of each answer are kept.
    keeps_times: bool,
    /// Requests that a connection carries.
    per_connection: u64,
    /// Requests still to be sent in the window.
    left: Option<u64>,
    in_flight: u64,
    /// Requests in flight that are on no connection.
    retries: Retries,
    /// Connections that failed since one took a request.
    broken: usize,
    /// The time of the last answer.
    heard: u64,
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
    /// When the process has no descriptor left, or an account of CPU time cannot be read.
    pub fn new(
        protocol: P,
        timeline: &'a Timeline,
        duty: Duty,
        targets: usize,
        seconds: Sender<Second>,
    ) -> io::Result<Self> {
        let opening = |(id, (at, _)): (usize, &(u64, usize))| (*at, id, Alarm::Open);
        let alarms = duty.openings.iter().enumerate().map(opening).collect();
        let connections = duty
            .openings
            .iter()
            .map(|(_, target)| ConnectionState::new(*target));
        let (mut most, mut permits, mut spin) = (u64::MAX, None, 0);
        let (mut intends, mut at_once) = (vec![false; targets], vec![false; targets]);
        let queues = match duty.turns {
            Turns::AtOnce => {
                at_once.fill(true);
                Vec::new()
            }
            Turns::Limited { limit, most: cap } => {
                (most, permits) = (cap, limit.map(Permits::new));
                vec![Queue::new(None)]
            }
            Turns::Intended(arrivals, wait) => {
                intends = arrivals.iter().map(Option::is_some).collect();
                at_once = arrivals.iter().map(Option::is_none).collect();
                spin = if wait == Wait::Spin { SPIN } else { 0 };
                arrivals.into_iter().map(Queue::new).collect()
            }
        };
        Ok(Worker {
            protocol,
            timeline,
            timeouts: duty.timeouts,
            poller: Poller::new()?,
            connections: connections.collect(),
            alarms,
            queues,
            permits,
            most,
            room_since: 0,
            intends,
            at_once,
            spin,
            think: duty.think,
            duel: duty.slices.map(Duel::new).transpose()?,
            picks: duty.picks,
            logged_sizes: duty.logged_sizes,
            keeps_times: duty.keeps_times,
            per_connection: duty.per_connection.unwrap_or(u64::MAX),
            left: duty.requests,
            in_flight: 0,
            retries: Retries::new(),
            broken: 0,
            heard: 0,
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
            while now >= self.next_chore {
                self.chores(now);
            }
            if now >= self.timeline.stop() && (self.is_done(now) || now >= self.timeline.deadline())
            {
                return Ok(self.finish(now));
            }
            self.ring(now)?;
            self.take_turns(now);
            self.send_due(now);
            let edges = self.poller.wait(self.next_wake().saturating_sub(now))?;
            for edge in 0..edges {
                let (id, hangup) = self.poller.edge(edge);
                now = self.on_edge(id, hangup)?;
                if let Some(duel) = &mut self.duel {
                    // Many answers at once are work, and no time that was lost.
                    duel.look(now);
                }
                self.send_due(now);
            }
            // A closed loop has nothing due by the clock, so that the last edge's time will do.
            if edges == 0 || !self.queues.is_empty() || self.duel.is_some() {
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
        let mut queues = self.queues.iter().enumerate();
        let waiting = |(target, queue): (usize, &Queue)| {
            let end = self.sends_until(target);
            queue.next().is_some_and(|next| next < end)
        };
        let new = self.left != Some(0) && (now < self.timeline.stop() || queues.any(waiting));
        new || !self.retries.is_empty()
    }

    fn next_wake(&self) -> u64 {
        if self.duel.is_some() {
            // A duel polls: it would otherwise not know what it slept through.
            return 0;
        }
        let alarm = self.alarms.first().map(|(at, ..)| *at);
        let others = alarm.into_iter().chain(self.next_send());
        others.fold(self.next_chore, u64::min)
    }

    /// Run the alarms that are due.
    fn ring(&mut self, now: u64) -> io::Result<()> {
        while let Some((at, id, alarm)) = self.alarms.first().copied() {
            if at > now {
                break;
            }
            self.alarms.pop_first();
            match alarm {
                Alarm::Open if self.wants_more(now) => self.open(id, now)?,
                Alarm::Open => {}
                Alarm::Think if self.connections[id].thinks_until == at => {
                    self.offer(id, now);
                    self.flush(id, now);
                }
                Alarm::Think => {}
                Alarm::Timer => self.on_timer(id, now),
            }
        }
        Ok(())
    }

    fn open(&mut self, id: usize, now: u64) -> io::Result<()> {
        let state = &mut self.connections[id];
        state.proved = false;
        state.carried = 0;
        state.usable = false;
        // Others may have been opened since `now`.
        state.opened = self.timeline.now();
        match self.protocol.open(state.target) {
            Ok(connection) => {
                self.poller.add(&connection, id)?;
                state.connection = Some(connection);
                self.flush(id, now);
            }
            Err(end) => self.close(id, end, now),
        }
        Ok(())
    }

    /// Let a connection continue after an edge; return the time of its answers.
    fn on_edge(&mut self, id: usize, hangup: bool) -> io::Result<u64> {
        let Some(connection) = &mut self.connections[id].connection else {
            return Ok(self.timeline.now());
        };
        let outcome = self.protocol.ready(connection, hangup, &mut self.events);
        let now = self.timeline.now();
        if outcome == Ok(Reading::More) {
            self.poller.rearm(connection, id)?;
        }
        self.go_on(id, outcome.map(|_| ()), now);
        Ok(now)
    }

    fn on_timer(&mut self, id: usize, now: u64) {
        self.connections[id].timer = None;
        if let Some(connection) = &mut self.connections[id].connection {
            let outcome = self.protocol.expire(connection, &mut self.events);
            self.go_on(id, outcome, now);
        }
    }

    /// Record what happened on a connection, and send more requests.
    fn go_on(&mut self, id: usize, outcome: Result<(), End>, now: u64) {
        for index in 0..self.events.len() {
            self.happened(id, self.events[index], now);
        }
        self.events.clear();
        match outcome {
            Ok(()) if !self.came_in_time(id, now) => self.close(id, LATE, now),
            Ok(()) => {
                self.offer(id, now);
                self.flush(id, now);
            }
            Err(end) => self.close(id, end, now),
        }
    }

    /// Close a connection, fail the requests in flight on it, and plan to open it again.
    fn close(&mut self, id: usize, end: End, now: u64) {
        self.set_timer(id, None);
        let state = &mut self.connections[id];
        state.connection = None;
        let target = state.target;
        let proved = state.proved;
        let again = if proved { now } else { now + RETRY };
        self.alarms.insert((again, id, Alarm::Open));
        let lost = std::mem::take(&mut state.requests);
        let failure = match end {
            End::Broken(failure) => failure,
            End::Proper => UNANSWERED,
        };
        if lost.is_empty() && end != End::Proper {
            let in_window = self.timeline.in_window(now);
            self.tallies[target].failure(failure, in_window);
            self.broken += 1;
        }
        if self.broken > HOPELESS + self.connections.len() || self.is_silent(now) {
            self.give_up();
        }
        let cut_off = matches!(failure.kind, Kind::Read | Kind::Write);
        for (_, request) in lost {
            if cut_off && request.begun.is_none() {
                self.tallies[target].lost(proved);
            }
            self.lost(&request, target, failure, now);
        }
    }
}
