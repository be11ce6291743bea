//! The event loop of one thread: its share of the connections and of the rate.

mod chores;
mod sending;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::mpsc::Sender;

use slab::Slab;

use super::arrivals::Arrivals;
use super::cpu::CpuTime;
use super::poller::Poller;
use super::progress::Second;
use super::tally::Tally;
use super::timeline::Timeline;
use crate::protocol::{Answer, End, Failure, Protocol, Reading};

/// How long a connection that never carried an answer waits before it is opened again.
const RETRY: u64 = 100_000_000;

/// How long before an intended send the thread polls instead of sleeping, in nanoseconds: waking up
/// takes a virtual CPU about 50 µs. Only an open loop spins; a closed one has nothing due.
const SPIN: u64 = 100_000;

/// One connection, its place kept while it is closed.
struct Slot<C> {
    connection: Option<C>,
    opened: u64,
    /// Whether it has carried an answer since it was opened.
    proved: bool,
    /// Since when it stands in the line for requests of the open loop.
    in_line_since: Option<u64>,
    requests: Slab<InFlight>,
}

/// A request in flight, with its times.
struct InFlight {
    intended: u64,
    sent: u64,
}

/// One thread's load.
pub struct Worker<'a, P: Protocol> {
    protocol: P,
    timeline: &'a Timeline,
    timeout: u64,
    poller: Poller,
    slots: Vec<Slot<P::Connection>>,
    /// When which connection is to be opened: the ramp, and whatever was lost.
    openings: BinaryHeap<Reverse<(u64, usize)>>,
    /// The intended sends; none in a closed loop.
    arrivals: Option<Arrivals>,
    /// Connections of the open loop that have room.
    line: VecDeque<usize>,
    in_flight: u64,
    answers: Vec<Answer>,
    tally: Tally,
    second: Second,
    seconds: Sender<Second>,
    next_chore: u64,
    cpu_at_start: Option<CpuTime>,
    cpu_at_end: Option<CpuTime>,
}

impl<'a, P: Protocol> Worker<'a, P> {
    /// A thread's load: connections to open at the times `openings`, and requests at `arrivals`.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new(
        protocol: P,
        timeline: &'a Timeline,
        timeout: u64,
        openings: Vec<u64>,
        arrivals: Option<Arrivals>,
        seconds: Sender<Second>,
    ) -> io::Result<Self> {
        let slot = |_: &u64| Slot {
            connection: None,
            opened: 0,
            proved: false,
            in_line_since: None,
            requests: Slab::new(),
        };
        Ok(Worker {
            protocol,
            timeline,
            timeout,
            poller: Poller::new()?,
            slots: openings.iter().map(slot).collect(),
            openings: openings
                .into_iter()
                .enumerate()
                .map(|(i, at)| Reverse((at, i)))
                .collect(),
            arrivals,
            line: VecDeque::new(),
            in_flight: 0,
            answers: Vec::new(),
            tally: Tally::default(),
            second: Second::default(),
            seconds,
            next_chore: 0,
            cpu_at_start: None,
            cpu_at_end: None,
        })
    }

    /// Makes the load, to its end.
    ///
    /// # Errors
    /// When the kernel refuses to poll.
    pub fn run(mut self) -> io::Result<Tally> {
        let mut now = self.timeline.now();
        loop {
            if now >= self.next_chore {
                self.chores(now);
            }
            if now >= self.timeline.stop() && (self.is_done() || now >= self.timeline.deadline()) {
                return Ok(self.finish());
            }
            self.open_due(now)?;
            self.send_due(now);
            let edges = self.poller.wait(self.next_wake().saturating_sub(now))?;
            for edge in 0..edges {
                let (slot, hangup) = self.poller.edge(edge);
                now = self.on_edge(slot, hangup)?;
                self.send_due(now);
            }
            // A closed loop has nothing due by the clock, so that the last edge's time will do.
            if edges == 0 || self.arrivals.is_some() {
                now = self.timeline.now();
            }
        }
    }

    /// Whether all that was intended before the stop has been answered.
    fn is_done(&self) -> bool {
        let stop = self.timeline.stop();
        let waiting = self
            .arrivals
            .as_ref()
            .is_some_and(|arrivals| arrivals.next() < stop);
        self.in_flight == 0 && !waiting
    }

    fn next_wake(&self) -> u64 {
        let opening = self.openings.peek().map(|Reverse((at, _))| *at);
        let sendable = self.arrivals.as_ref().filter(|_| !self.line.is_empty());
        let intended = sendable
            .map(Arrivals::next)
            .filter(|at| *at < self.timeline.stop());
        let send = intended.map(|at| at.saturating_sub(SPIN));
        let others = opening.into_iter().chain(send);
        others.fold(self.next_chore, u64::min)
    }

    fn open_due(&mut self, now: u64) -> io::Result<()> {
        while let Some(Reverse((at, slot))) = self.openings.peek().copied() {
            if at > now {
                break;
            }
            self.openings.pop();
            self.slots[slot].proved = false;
            match self.protocol.open() {
                Ok(connection) => {
                    self.poller.add(&connection, slot)?;
                    self.slots[slot].connection = Some(connection);
                    self.slots[slot].opened = now;
                }
                Err(end) => self.close(slot, end, now),
            }
        }
        Ok(())
    }

    /// Goes on with a connection after an edge; returns the time of its answers.
    fn on_edge(&mut self, slot: usize, hangup: bool) -> io::Result<u64> {
        let Some(connection) = &mut self.slots[slot].connection else {
            return Ok(self.timeline.now());
        };
        let outcome = self.protocol.ready(connection, hangup, &mut self.answers);
        let now = self.timeline.now();
        if outcome == Ok(Reading::More) {
            self.poller.rearm(connection, slot)?;
        }
        for index in 0..self.answers.len() {
            self.answered(slot, self.answers[index], now);
        }
        self.answers.clear();
        match outcome {
            Ok(_) => self.offer(slot, now),
            Err(end) => self.close(slot, end, now),
        }
        Ok(now)
    }

    fn answered(&mut self, slot: usize, answer: Answer, now: u64) {
        let slot = &mut self.slots[slot];
        let request = slot.requests.remove(answer.request);
        slot.proved = true;
        let in_window = self.settled(&request, now);
        let latency = now - request.intended;
        self.tally
            .answer(&answer, latency, now - request.sent, in_window);
        if answer.failure.is_none() {
            self.second.record(latency);
        }
    }

    /// Takes a request out of flight; tells whether it belongs to the window.
    fn settled(&mut self, request: &InFlight, now: u64) -> bool {
        self.in_flight -= 1;
        self.tally.in_flight_area += i128::from(self.timeline.window_before(now));
        self.is_in_window(request.intended, now)
    }

    fn is_in_window(&self, intended: u64, completed: u64) -> bool {
        let decisive = if self.arrivals.is_some() {
            intended
        } else {
            completed
        };
        self.timeline.in_window(decisive)
    }

    /// Closes a connection, fails what was in flight on it, and plans to open it again.
    fn close(&mut self, slot: usize, end: End, now: u64) {
        let place = &mut self.slots[slot];
        place.connection = None;
        let retry = if place.proved { now } else { now + RETRY };
        self.openings.push(Reverse((retry, slot)));
        let lost = std::mem::take(&mut place.requests);
        let failure = match end {
            End::Broken(failure) => failure,
            End::Proper => Failure::Read,
        };
        if lost.is_empty() && end != End::Proper {
            self.tally.failure(failure, self.timeline.in_window(now));
        }
        for (_, request) in lost {
            let in_window = self.settled(&request, now);
            self.tally.offered += u64::from(in_window);
            self.tally.failure(failure, in_window);
        }
    }
}
