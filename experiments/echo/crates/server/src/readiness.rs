//! The event loop of data paths that wait with epoll(7) and move bytes themselves.
//!
//! Level-triggered: a descriptor is asked for what its flows wait for and nothing else, so one piece
//! costs one wait (shared with all that are ready), one read and one write.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use slab::Slab;

use crate::accept::{Acceptor, admit};
use crate::counters::Counters;
use crate::options::Options;
use crate::service::Thread;
use crate::sockets::{abort_on_close, connecting};

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const EVENTS: usize = 256;

/// The state of a flow after it was pumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for bytes.
    Reading,
    /// It holds bytes that its destination does not take yet.
    Blocked,
    /// Its source ended, and all it sent is on its way.
    Ended,
}

/// A data path: how bytes get from one socket to another.
pub trait Mover {
    /// The state of one direction of one connection.
    type Flow;

    /// A new direction.
    fn flow(&mut self) -> Result<Self::Flow>;

    /// Move one piece, or what was left of the last. An error ends the connection.
    fn pump(
        &mut self,
        flow: &mut Self::Flow,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        counters: &Counters,
    ) -> Result<State, Errno>;
}

/// Flow i reads from end i; in an echo there is one end, to which it also writes.
struct Connection<F> {
    ends: Vec<OwnedFd>,
    flows: Vec<(F, State)>,
    /// The events registered at each end; `None` where the end is not registered.
    asked: Vec<Option<epoll::EventFlags>>,
}

impl<F> Connection<F> {
    /// The other end, or the only one.
    fn across(&self, end: usize) -> usize {
        self.ends.len() - 1 - end
    }

    fn wanted(&self, end: usize) -> epoll::EventFlags {
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN, self.flows[end].1 == State::Reading);
        flags.set(
            epoll::EventFlags::OUT,
            self.flows[self.across(end)].1 == State::Blocked,
        );
        flags
    }
}

/// The connections of one thread that user space forwards.
pub struct Forwarder<'a, M: Mover> {
    mover: M,
    counters: &'a Counters,
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    connections: Slab<Connection<M::Flow>>,
    dead: Vec<usize>,
}

/// Serve one thread with `mover`.
pub fn work<M: Mover>(thread: Thread<'_>, mover: M) -> Result<()> {
    let Thread {
        listener,
        stop,
        counters,
        options,
    } = thread;
    let mut acceptor = Acceptor::new(listener)?;
    let mut own = Forwarder::new(mover, counters)?;
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
    pub fn new(mover: M, counters: &'a Counters) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (events, connections, dead) = (Vec::with_capacity(EVENTS), Slab::new(), Vec::new());
        Ok(Self {
            mover,
            counters,
            epoll,
            events,
            connections,
            dead,
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
        let asked = vec![Some(epoll::EventFlags::IN); ends.len()];
        let slot = self.connections.insert(Connection { ends, flows, asked });
        for (end, socket) in self.connections[slot].ends.iter().enumerate() {
            let data = epoll::EventData::new_u64((slot << 1 | end) as u64);
            epoll::add(&self.epoll, socket, data, epoll::EventFlags::IN)?;
        }
        Ok(())
    }

    /// Waits, for ever without a timeout, and forwards what came. Return the tokens of what else
    /// was being watched.
    pub fn turn(&mut self, timeout: Option<Duration>) -> Result<Vec<u64>> {
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
        self.bury();
        Ok(others)
    }

    /// Close what is left.
    pub fn give_up(&mut self) {
        self.counters.gave_up(self.connections.len() as u64);
        self.connections.clear();
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
            let (from, to) = (flow, connection.across(flow));
            if !alive || !due || connection.flows[flow].1 != waits {
                continue;
            }
            moved = true;
            let (state, known) = &mut connection.flows[flow];
            let (source, sink) = (connection.ends[from].as_fd(), connection.ends[to].as_fd());
            match self.mover.pump(state, source, sink, self.counters) {
                Ok(found) => *known = found,
                Err(_) => alive = false,
            }
            if *known == State::Ended && to != from {
                alive &= shutdown(&connection.ends[to], Shutdown::Write).is_ok();
            }
        }
        let connection = &mut self.connections[slot];
        if alive && !moved && flags.contains(epoll::EventFlags::HUP) {
            // Both directions of this end have ended, but what came from it waits for the other
            // end. It would be reported without pause.
            connection.asked[end] = None;
            epoll::delete(&self.epoll, &connection.ends[end])?;
        }
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
        for slot in self.dead.drain(..) {
            drop(self.connections.remove(slot));
            Counters::add(&self.counters.closed, 1);
        }
    }
}
