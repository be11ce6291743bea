//! The event loop of data paths that wait with epoll(7) and move bytes themselves.
//!
//! Level-triggered: a descriptor is asked for what its flows wait for and nothing else, so one piece
//! costs one wait (shared with all that are ready), one read and one write. Edge-triggered: it is
//! asked for everything once, and a flow is pumped until its source or its destination has refused;
//! only then will the kernel tell of it again.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use slab::Slab;

use crate::accept::{Acceptor, admit};
use crate::connection::Connection;
use crate::counters::Counters;
use crate::mover::{Mover, State};
use crate::options::Options;
use crate::service::Thread;
use crate::sockets::{abort_on_close, connecting};

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const EVENTS: usize = 256;
/// The pieces that a flow moves, edge-triggered, before other connections have their turn.
const TURN: usize = 16;

/// The kernel's rule for telling of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// At each wait, for as long as it is ready.
    Level,
    /// Once, when it becomes ready.
    Edge,
}

/// The connections of one thread that user space forwards.
pub struct Forwarder<'a, M: Mover> {
    mover: M,
    trigger: Trigger,
    counters: &'a Counters,
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    connections: Slab<Connection<M::Flow>>,
    dead: Vec<usize>,
    /// The flows, by slot and number, whose turn was over before their source was empty.
    unfinished: Vec<(usize, usize)>,
}

/// Serve one thread with `mover`.
pub fn work<M: Mover>(thread: Thread<'_>, mover: M, trigger: Trigger) -> Result<()> {
    let Thread {
        listener,
        stop,
        counters,
        options,
    } = thread;
    let mut acceptor = Acceptor::new(listener)?;
    let mut own = Forwarder::new(mover, trigger, counters)?;
    own.watch(acceptor.listener(), LISTENER)?;
    own.watch(stop, STOP)?;
    loop {
        for told in own.turn(None)? {
            own.take_all(&mut acceptor, options)?;
            if told == STOP {
                epoll::delete(own.epoll(), stop)?;
                drop(acceptor);
                return own.drain(Instant::now() + options.drain());
            }
        }
    }
}

impl<'a, M: Mover> Forwarder<'a, M> {
    /// Without connections.
    pub fn new(mover: M, trigger: Trigger, counters: &'a Counters) -> Result<Self> {
        Ok(Self {
            mover,
            trigger,
            counters,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS),
            connections: Slab::new(),
            dead: Vec::new(),
            unfinished: Vec::new(),
        })
    }

    /// Readable when `turn` has something to do.
    pub fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    /// Return true if it has no connection.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Forwards the bytes of a client, which ends[0] is, to ends[1] and back, or to itself.
    pub fn adopt(&mut self, ends: Vec<OwnedFd>) -> Result<()> {
        let flows = ends
            .iter()
            .map(|_| Ok((self.mover.flow()?, State::Reading)));
        let flows = flows.collect::<Result<_>>()?;
        let wanted = match self.trigger {
            Trigger::Level => epoll::EventFlags::IN,
            Trigger::Edge => epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET,
        };
        let asked = vec![Some(wanted); ends.len()];
        let slot = self.connections.insert(Connection { ends, flows, asked });
        for (end, socket) in self.connections[slot].ends.iter().enumerate() {
            let data = epoll::EventData::new_u64((slot << 1 | end) as u64);
            epoll::add(&self.epoll, socket, data, wanted)?;
        }
        Ok(())
    }

    /// Waits, for ever without a timeout, and forwards what came. Return the tokens of what else
    /// was being watched.
    pub fn turn(&mut self, timeout: Option<Duration>) -> Result<Vec<u64>> {
        let unfinished = std::mem::take(&mut self.unfinished);
        let timeout = if unfinished.is_empty() {
            timeout
        } else {
            Some(Duration::ZERO)
        };
        let timeout = timeout
            .map(Timespec::try_from)
            .transpose()
            .context("timeout")?;
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        self.counters.called();
        match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("epoll_wait"),
        }
        let mut others = Vec::new();
        for event in &events {
            match event.data.u64() {
                token @ (LISTENER | STOP) => others.push(token),
                token => self.serve((token >> 1) as usize, (token & 1) as usize, event.flags)?,
            }
        }
        self.events = events;
        for (slot, flow) in unfinished {
            self.go_on(slot, flow)?;
        }
        self.bury();
        Ok(others)
    }

    /// Close what is left.
    pub fn give_up(&mut self) {
        self.counters.gave_up(self.connections.len() as u64);
        self.connections.clear();
        self.unfinished.clear();
    }

    fn watch(&self, what: impl AsFd, token: u64) -> Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, what, data, epoll::EventFlags::IN)?)
    }

    fn drain(&mut self, deadline: Instant) -> Result<()> {
        while !self.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.give_up();
            } else {
                self.turn(Some(left))?;
            }
        }
        Ok(())
    }

    fn take_all(&mut self, acceptor: &mut Acceptor, options: &Options) -> Result<()> {
        loop {
            self.counters.called();
            let Some(client) = acceptor.accept()? else {
                return Ok(());
            };
            let counters = self.counters;
            admit(client, options, counters, |client| {
                self.take(client, options)
            })?;
        }
    }

    fn take(&mut self, client: OwnedFd, options: &Options) -> Result<()> {
        let mut ends = vec![client];
        if let Some(backend) = options.upstream() {
            ends.push(connecting(backend, options)?);
        }
        self.adopt(ends)
    }

    fn serve(&mut self, slot: usize, end: usize, flags: epoll::EventFlags) -> Result<()> {
        if self.dead.contains(&slot) {
            return Ok(());
        }
        let connection = &mut self.connections[slot];
        let across = connection.across(end);
        let mut alive = !flags.contains(epoll::EventFlags::ERR);
        let mut moved = false;
        let readable = flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP);
        let writable = flags.contains(epoll::EventFlags::OUT);
        let due = [
            (end, readable, State::Reading),
            (across, writable, State::Blocked),
        ];
        for (flow, due, waits) in due {
            if alive && due && self.connections[slot].flows[flow].1 == waits {
                moved = true;
                alive = self.pump(slot, flow);
            }
        }
        let connection = &mut self.connections[slot];
        let level = self.trigger == Trigger::Level;
        if level && alive && !moved && flags.contains(epoll::EventFlags::HUP) {
            // Both directions of this end have ended, but what came from it waits for the other
            // end. It would be reported without pause.
            connection.asked[end] = None;
            epoll::delete(&self.epoll, &connection.ends[end])?;
        }
        self.settle(slot, alive)
    }

    /// Give a flow another turn, of which no event will tell.
    fn go_on(&mut self, slot: usize, flow: usize) -> Result<()> {
        if self.dead.contains(&slot) {
            return Ok(());
        }
        let alive = self.pump(slot, flow);
        self.settle(slot, alive)
    }

    /// Give a flow its turn. Return false if its connection is broken.
    fn pump(&mut self, slot: usize, flow: usize) -> bool {
        let connection = &mut self.connections[slot];
        let to = connection.across(flow);
        let (own, known) = &mut connection.flows[flow];
        let (source, sink) = (connection.ends[flow].as_fd(), connection.ends[to].as_fd());
        let turn = match self.trigger {
            Trigger::Level => 1,
            Trigger::Edge => TURN,
        };
        let mut found = Ok(State::Moved);
        for _ in 0..turn {
            found = self.mover.pump(own, source, sink, self.counters);
            if found != Ok(State::Moved) {
                break;
            }
        }
        *known = match (found, self.trigger) {
            (Err(_), _) => return false,
            (Ok(State::Moved), Trigger::Level) => State::Reading,
            (Ok(found), _) => found,
        };
        if *known == State::Moved {
            self.unfinished.push((slot, flow));
        }
        *known != State::Ended || to == flow || shutdown(sink, Shutdown::Write).is_ok()
    }

    /// Note a connection that is over; else ask for the events that it waits for.
    fn settle(&mut self, slot: usize, alive: bool) -> Result<()> {
        let connection = &mut self.connections[slot];
        if !alive {
            connection.ends.iter().for_each(abort_on_close);
            Counters::add(&self.counters.aborted, 1);
        }
        if !alive
            || connection
                .flows
                .iter()
                .all(|(_, state)| *state == State::Ended)
        {
            self.dead.push(slot);
            return Ok(());
        }
        if self.trigger == Trigger::Edge {
            return Ok(());
        }
        for end in 0..connection.ends.len() {
            let wanted = connection.wanted(end);
            let data = epoll::EventData::new_u64((slot << 1 | end) as u64);
            let socket = &connection.ends[end];
            match connection.asked[end] {
                None if wanted.is_empty() => continue,
                None => epoll::add(&self.epoll, socket, data, wanted)?,
                Some(asked) if asked == wanted => continue,
                Some(_) => epoll::modify(&self.epoll, socket, data, wanted)?,
            }
            connection.asked[end] = Some(wanted);
            self.counters.called();
        }
        Ok(())
    }

    /// Free the slots of ended connections; until then, events of the same wait may name them.
    fn bury(&mut self) {
        if !self.dead.is_empty() {
            self.unfinished
                .retain(|(slot, _)| !self.dead.contains(slot));
        }
        for slot in self.dead.drain(..) {
            drop(self.connections.remove(slot));
            Counters::add(&self.counters.closed, 1);
        }
    }
}

#[cfg(test)]
mod tests;
