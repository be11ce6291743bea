//! The event loop of one thread: accept, join, close.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use echo_server::accept::{Acceptor, admit};
use echo_server::copy::Copy;
use echo_server::log;
use echo_server::readiness::{Forwarder, Trigger};
use echo_server::sockets::{abort_on_close, connecting};
use echo_server::{Counters, Options, Thread};
use libbpf_rs::RingBufferBuilder;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use slab::Slab;

use crate::connection::Connection;
use crate::kernel::Kernel;

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const CONDEMNED: u64 = u64::MAX - 2;
const BY_HAND: u64 = u64::MAX - 3;
const BACKEND: usize = 1;
const EVENTS: usize = 256;

/// Interval between checks of a closing connection's delivery.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// Once it has taken long.
const LOOK_RARELY: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_millis(100);

struct Loop<'a> {
    counters: &'a Counters,
    options: &'a Options,
    kernel: &'a Kernel,
    epoll: OwnedFd,
    connections: Slab<Connection>,
    by_cookie: HashMap<u64, usize>,
    /// Connections with a direction that finishes, and since when.
    settling: HashMap<usize, Instant>,
    dead: Vec<usize>,
    /// Connections that user space is to forward.
    refused: Vec<usize>,
    /// Connections that ended before the kernel could be given them.
    by_hand: Forwarder<'a, Copy>,
}

/// Serve one thread.
pub fn work(thread: Thread<'_>, kernel: &Kernel) -> Result<()> {
    let Thread {
        listener,
        stop,
        counters,
        options,
    } = thread;
    let mut acceptor = Some(Acceptor::new(listener)?);
    let over = Mutex::new(Vec::new());
    let mut ring = RingBufferBuilder::new();
    ring.add(&kernel.events, |record: &[u8]| {
        over.lock()
            .expect("one thread")
            .extend(record.try_into().map(u64::from_ne_bytes));
        0
    })?;
    let ring = ring.build()?;
    let mut own = Loop::new(counters, options, kernel)?;
    let listening = acceptor.as_ref().expect("just made").listener();
    own.watch(listening, LISTENER)?;
    own.watch(stop, STOP)?;
    // SAFETY: the descriptor is the ring's, which outlives the borrow.
    own.watch(
        unsafe { BorrowedFd::borrow_raw(ring.epoll_fd()) },
        CONDEMNED,
    )?;
    let mut deadline: Option<Instant> = None;
    let mut events = Vec::with_capacity(EVENTS);
    while deadline.is_none() || !own.is_empty() {
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            own.give_up();
            break;
        }
        let timeout = [left, own.next_look()].into_iter().flatten().min();
        let timeout = timeout
            .map(Timespec::try_from)
            .transpose()
            .context("timeout")?;
        events.clear();
        counters.called();
        match epoll::wait(&own.epoll, spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("epoll_wait"),
        }
        for event in &events {
            match event.data.u64() {
                LISTENER => own.take_all(acceptor.as_mut())?,
                STOP => {
                    own.take_all(acceptor.as_mut())?;
                    epoll::delete(&own.epoll, stop)?;
                    acceptor = None;
                    deadline = Some(Instant::now() + options.drain());
                }
                CONDEMNED => {
                    ring.consume()?;
                    over.lock()
                        .expect("one thread")
                        .drain(..)
                        .for_each(|each| own.execute(each));
                }
                BY_HAND => drop(own.by_hand.turn(Some(Duration::ZERO))?),
                token => own.notice((token >> 1) as usize, (token & 1) as usize, event.flags)?,
            }
        }
        own.settle();
        own.bury()?;
    }
    Ok(())
}

impl<'a> Loop<'a> {
    fn new(counters: &'a Counters, options: &'a Options, kernel: &'a Kernel) -> Result<Self> {
        let by_hand = Forwarder::new(Copy::new(), Trigger::Level, counters)?;
        let own = Self {
            counters,
            options,
            kernel,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            connections: Slab::new(),
            by_cookie: HashMap::new(),
            settling: HashMap::new(),
            dead: Vec::new(),
            refused: Vec::new(),
            by_hand,
        };
        own.watch(own.by_hand.epoll(), BY_HAND)?;
        Ok(own)
    }

    fn watch(&self, what: impl AsFd, token: u64) -> Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, what, data, epoll::EventFlags::IN)?)
    }

    fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.by_hand.is_empty()
    }

    fn take_all(&mut self, acceptor: Option<&mut Acceptor>) -> Result<()> {
        let Some(acceptor) = acceptor else {
            return Ok(());
        };
        loop {
            self.counters.called();
            let Some(client) = acceptor.accept()? else {
                return Ok(());
            };
            let (options, counters) = (self.options, self.counters);
            admit(client, options, counters, |client| self.take(client))?;
        }
    }

    fn take(&mut self, client: OwnedFd) -> Result<()> {
        let mut ends = vec![client];
        if let Some(backend) = self.options.upstream() {
            ends.push(connecting(backend, self.options)?);
        }
        let mut connection = Connection::new(ends)?;
        let relay = connection.ends().len() > 1;
        // A relay's is joined once the backend answers.
        if !relay && !connection.join(self.kernel)? {
            return self.hand_over(connection);
        }
        let slot = self.connections.vacant_key();
        for (end, socket) in connection.ends().iter().enumerate() {
            let data = epoll::EventData::new_u64((slot << 1 | end) as u64);
            let mut flags = epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
            flags.set(epoll::EventFlags::OUT, end == BACKEND);
            epoll::add(&self.epoll, socket, data, flags)?;
        }
        for cookie in connection.cookies() {
            self.by_cookie.insert(*cookie, slot);
        }
        self.connections.insert(connection);
        Ok(())
    }

    /// Let user space forward a connection that the kernel does not take.
    fn hand_over(&mut self, connection: Connection) -> Result<()> {
        Counters::add(&self.counters.by_hand, 1);
        self.by_hand.adopt(connection.into_ends())
    }

    /// Something happened to a socket.
    fn notice(&mut self, slot: usize, end: usize, flags: epoll::EventFlags) -> Result<()> {
        if self.dead.contains(&slot) || self.refused.contains(&slot) {
            return Ok(());
        }
        if flags.contains(epoll::EventFlags::ERR) {
            self.abort(slot);
            return Ok(());
        }
        let connection = &mut self.connections[slot];
        if flags.contains(epoll::EventFlags::RDHUP) {
            connection.finish(end);
            self.settling.entry(slot).or_insert_with(Instant::now);
        }
        if flags.contains(epoll::EventFlags::OUT) && !connection.is_joined() {
            return self.connected(slot);
        }
        Ok(())
    }

    /// The backend has answered.
    fn connected(&mut self, slot: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        let backend = &connection.ends()[BACKEND];
        let data = epoll::EventData::new_u64((slot << 1 | BACKEND) as u64);
        let flags = epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::modify(&self.epoll, backend, data, flags)?;
        match connection.join(self.kernel) {
            Ok(true) => {}
            Ok(false) => self.refused.push(slot),
            Err(error) => {
                log::line(format_args!("a client is turned away: {error:#}"));
                self.abort(slot);
            }
        }
        Ok(())
    }

    /// A connection went over a limit.
    fn execute(&mut self, cookie: u64) {
        if let Some(&slot) = self.by_cookie.get(&cookie)
            && !self.dead.contains(&slot)
        {
            log::line(
                "a connection has more in flight than it may and is reset: its client does not read",
            );
            self.abort(slot);
        }
        self.kernel.forget(cookie);
    }

    fn abort(&mut self, slot: usize) {
        self.connections[slot]
            .ends()
            .iter()
            .for_each(abort_on_close);
        Counters::add(&self.counters.aborted, 1);
        self.dead.push(slot);
    }

    /// Look which of the finishing connections have all their bytes on their way.
    fn settle(&mut self) {
        let mut lost = Vec::new();
        self.settling.retain(|slot, _| {
            let Some(connection) = self.connections.get_mut(*slot) else {
                return false;
            };
            match connection.settle() {
                Ok(false) => connection.is_finishing(),
                Ok(true) => {
                    self.dead.push(*slot);
                    false
                }
                Err(_) => {
                    lost.push(*slot);
                    false
                }
            }
        });
        lost.into_iter().for_each(|slot| self.abort(slot));
    }

    /// Return the time until the next check.
    fn next_look(&self) -> Option<Duration> {
        let newest = self.settling.values().max()?;
        Some(if newest.elapsed() < LONG {
            LOOK_AGAIN
        } else {
            LOOK_RARELY
        })
    }

    /// Close what ended, and hands over what the kernel refused; until then, events of the same wait
    /// may name it.
    fn bury(&mut self) -> Result<()> {
        self.dead.sort_unstable();
        self.dead.dedup();
        for slot in std::mem::take(&mut self.dead) {
            self.forget(slot);
            Counters::add(&self.counters.closed, 1);
        }
        for slot in std::mem::take(&mut self.refused) {
            if !self.connections.contains(slot) {
                continue;
            }
            let connection = self.forget(slot);
            for end in connection.ends() {
                epoll::delete(&self.epoll, end)?;
            }
            self.hand_over(connection)?;
        }
        Ok(())
    }

    fn forget(&mut self, slot: usize) -> Connection {
        let connection = self.connections.remove(slot);
        for cookie in connection.cookies() {
            self.by_cookie.remove(cookie);
        }
        self.settling.remove(&slot);
        connection
    }

    fn give_up(&mut self) {
        self.counters.gave_up(self.connections.len() as u64);
        self.connections.clear();
        self.by_hand.give_up();
    }
}
