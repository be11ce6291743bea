//! The event loop of one thread.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use anyhow::{Result, bail};
use echo_server::accept::Acceptor;
use echo_server::log::say;
use echo_server::sockets::{abort_on_close, connecting, set_blocking, verify};
use echo_server::{Counters, Options, Thread};
use io_uring::types::Timespec;
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown, sockopt};
use slab::Slab;

use crate::buffers::{Buffers, Pool};
use crate::flow::{Flow, Next};
use crate::ring::{Completion, Kind, Ring, Token};

const CLIENT: usize = 0;
const BACKEND: usize = 1;

/// Flow i receives from end i; an echo has one end, to which it also sends.
struct Connection {
    ends: Vec<OwnedFd>,
    flows: Vec<Flow>,
    /// Operations that have not completed: until then its memory and descriptors stay.
    under_way: u32,
    /// The backend has answered, or there is none.
    joined: bool,
    /// It is given up.
    dead: bool,
}

struct Loop<'a> {
    // Before the buffers: the kernel fills them for as long as there is a ring.
    ring: Ring<'a>,
    buffers: Buffers,
    counters: &'a Counters,
    options: &'a Options,
    connections: Slab<Connection>,
    /// Directions that found no buffer.
    starved: Vec<(usize, usize)>,
}

/// Serves one thread.
pub fn work(thread: Thread<'_>, pool: &Pool) -> Result<()> {
    let Thread {
        listener,
        stop,
        counters,
        options,
    } = thread;
    set_blocking(&listener, true)?;
    let mut acceptor = Some(Acceptor::new(listener)?);
    let ring = Ring::new(counters)?;
    let buffers = Buffers::register(&ring.inner, pool)?;
    let (connections, starved) = (Slab::new(), Vec::new());
    let mut own = Loop {
        ring,
        buffers,
        counters,
        options,
        connections,
        starved,
    };
    own.ring
        .accept(acceptor.as_ref().expect("just made").listener().as_raw_fd())?;
    own.ring
        .poll(stop.as_raw_fd(), libc::POLLIN, Token::of(Kind::Stop))?;
    let drain = Timespec::from(options.drain());
    let mut over = false;
    while acceptor.is_some() || !own.connections.is_empty() {
        if over {
            own.give_up();
            break;
        }
        let completions = own.ring.turn()?;
        for each in &completions {
            match each.token.kind {
                Kind::Accept => own.accepted(each, acceptor.as_mut())?,
                Kind::Stop => {
                    own.ring
                        .cancel(Token::of(Kind::Accept), Token::of(Kind::Deadline))?;
                    own.ring.timeout(&drain)?;
                    let last = acceptor.take();
                    own.take_last(last)?;
                }
                // Also of the cancelled accept, which comes with a count of 0.
                Kind::Deadline => over |= each.result == Err(Errno::TIME),
                _ => own.completed(each)?,
            }
        }
        own.ring.done(completions);
        own.feed()?;
    }
    Ok(())
}

impl Loop<'_> {
    fn accepted(&mut self, completion: &Completion, acceptor: Option<&mut Acceptor>) -> Result<()> {
        let mut full = false;
        match completion.result {
            // SAFETY: the kernel has just made the descriptor for this completion.
            Ok(fd) => self.admit(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })?,
            Err(Errno::MFILE | Errno::NFILE) => full = true,
            Err(Errno::CANCELED | Errno::CONNABORTED | Errno::INTR) => {}
            Err(error) => bail!("accept: {error}"),
        }
        if let Some(acceptor) = acceptor
            && !completion.more
        {
            if full {
                acceptor.turn_away()?;
            }
            self.ring.accept(acceptor.listener().as_raw_fd())?;
        }
        Ok(())
    }

    /// Takes those that were in the queue when no more were to be taken.
    fn take_last(&mut self, acceptor: Option<Acceptor>) -> Result<()> {
        let Some(mut acceptor) = acceptor else {
            return Ok(());
        };
        set_blocking(acceptor.listener(), false)?;
        while let Some(client) = acceptor.accept()? {
            set_blocking(&client, true)?;
            self.admit(client)?;
        }
        Ok(())
    }

    fn admit(&mut self, client: OwnedFd) -> Result<()> {
        Counters::add(&self.counters.accepted, 1);
        verify(&client, self.options)?;
        if let Err(error) = self.take(client) {
            self.counters.turned_away(&error);
        }
        Ok(())
    }

    fn take(&mut self, client: OwnedFd) -> Result<()> {
        let mut ends = vec![client];
        if let Some(backend) = self.options.upstream() {
            ends.push(connecting(backend, self.options)?);
        }
        let flows = ends.iter().map(|_| Flow::default()).collect();
        let joined = ends.len() == 1;
        let connection = Connection {
            ends,
            flows,
            under_way: 0,
            joined,
            dead: false,
        };
        let slot = self.connections.insert(connection);
        let connection = &mut self.connections[slot];
        let Some(backend) = connection.ends.get(BACKEND) else {
            return self.receive(slot, CLIENT);
        };
        connection.under_way += 1;
        let token = Token {
            kind: Kind::Connect,
            slot,
            end: BACKEND,
        };
        self.ring.poll(backend.as_raw_fd(), libc::POLLOUT, token)
    }

    fn completed(&mut self, completion: &Completion) -> Result<()> {
        let Token { kind, slot, end } = completion.token;
        if !completion.more {
            self.connections[slot].under_way -= 1;
        }
        match kind {
            Kind::Receive => self.received(slot, end, completion)?,
            Kind::Send => self.sent(slot, end, completion)?,
            Kind::Connect if !self.connections[slot].dead => self.connected(slot)?,
            _ => {}
        }
        if !self.connections[slot].dead {
            self.go_on(slot, end)?;
        }
        self.bury(slot);
        Ok(())
    }

    fn connected(&mut self, slot: usize) -> Result<()> {
        let backend = &self.connections[slot].ends[BACKEND];
        if sockopt::socket_error(backend)?.is_err() {
            return self.abort(slot);
        }
        // A non-blocking socket would make the kernel give up instead of waiting.
        set_blocking(backend, true)?;
        self.connections[slot].joined = true;
        self.receive(slot, CLIENT)?;
        self.receive(slot, BACKEND)
    }

    fn received(&mut self, slot: usize, end: usize, completion: &Completion) -> Result<()> {
        let connection = &mut self.connections[slot];
        let flow = &mut connection.flows[end];
        if !completion.more {
            flow.receiving = false;
            flow.cancelling = false;
        }
        if connection.dead {
            completion
                .buffer
                .into_iter()
                .for_each(|each| self.buffers.give_back(each));
            return Ok(());
        }
        match (completion.result, completion.buffer) {
            (Ok(0), buffer) => {
                buffer
                    .into_iter()
                    .for_each(|each| self.buffers.give_back(each));
                flow.ended = true;
            }
            (Ok(bytes), Some(buffer)) => {
                self.counters.forwarded(bytes as usize);
                let next = flow.received(buffer, bytes as usize, &mut self.buffers);
                if !flow.has_room() && flow.receiving && !flow.cancelling {
                    flow.cancelling = true;
                    connection.under_way += 1;
                    let which = Token {
                        kind: Kind::Receive,
                        slot,
                        end,
                    };
                    self.ring.cancel(
                        which,
                        Token {
                            kind: Kind::Cancel,
                            slot,
                            end,
                        },
                    )?;
                }
                self.send(slot, end, next)?;
            }
            (Err(Errno::NOBUFS), _) => self.starved.push((slot, end)),
            (Err(Errno::CANCELED | Errno::INTR), _) => {}
            _ => self.abort(slot)?,
        }
        Ok(())
    }

    fn sent(&mut self, slot: usize, end: usize, completion: &Completion) -> Result<()> {
        let connection = &mut self.connections[slot];
        let flow = &mut connection.flows[end];
        let count = match completion.result {
            Ok(count) => count as usize,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => {
                flow.failed(&mut self.buffers);
                return if connection.dead {
                    Ok(())
                } else {
                    self.abort(slot)
                };
            }
        };
        if connection.dead {
            flow.failed(&mut self.buffers);
            return Ok(());
        }
        let next = flow.sent(count, &mut self.buffers);
        self.send(slot, end, next)
    }

    /// Passes an end on, and receives again where there is room again.
    fn go_on(&mut self, slot: usize, end: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        let across = connection.ends.len() - 1 - end;
        let flow = &mut connection.flows[end];
        if flow.ended && flow.is_empty() && !flow.closed {
            flow.closed = true;
            if across != end && shutdown(&connection.ends[across], Shutdown::Write).is_err() {
                return self.abort(slot);
            }
            return Ok(());
        }
        if !self.starved.contains(&(slot, end)) {
            self.receive(slot, end)?;
        }
        Ok(())
    }

    /// Receives again for directions that found no buffer.
    fn feed(&mut self) -> Result<()> {
        for (slot, end) in std::mem::take(&mut self.starved) {
            if self.connections.contains(slot) {
                self.receive(slot, end)?;
            }
        }
        Ok(())
    }

    /// Receives from an end, unless that is under way, over, or to wait.
    fn receive(&mut self, slot: usize, end: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        let flow = &mut connection.flows[end];
        let idle = !flow.receiving && !flow.ended && flow.has_room();
        if connection.joined && !connection.dead && idle {
            flow.receiving = true;
            connection.under_way += 1;
            let token = Token {
                kind: Kind::Receive,
                slot,
                end,
            };
            self.ring.receive(connection.ends[end].as_raw_fd(), token)?;
        }
        Ok(())
    }

    fn send(&mut self, slot: usize, end: usize, next: Option<Next>) -> Result<()> {
        let Some(Next { from, count, flags }) = next else {
            return Ok(());
        };
        let connection = &mut self.connections[slot];
        connection.under_way += 1;
        let sink = connection.ends[connection.ends.len() - 1 - end].as_raw_fd();
        self.ring.send(
            sink,
            from,
            count,
            flags,
            Token {
                kind: Kind::Send,
                slot,
                end,
            },
        )
    }

    /// Gives a connection up: what is under way is cancelled, and the peers are reset.
    fn abort(&mut self, slot: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        connection.dead = true;
        connection.ends.iter().for_each(abort_on_close);
        Counters::add(&self.counters.aborted, 1);
        for end in 0..connection.ends.len() {
            for kind in [Kind::Connect, Kind::Receive, Kind::Send] {
                connection.under_way += 1;
                let which = Token { kind, slot, end };
                self.ring.cancel(
                    which,
                    Token {
                        kind: Kind::Cancel,
                        slot,
                        end,
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Closes a connection that has ended, once nothing of it is under way.
    fn bury(&mut self, slot: usize) {
        let connection = &self.connections[slot];
        let ended = connection.dead || connection.flows.iter().all(|flow| flow.closed);
        if ended && connection.under_way == 0 {
            drop(self.connections.remove(slot));
            Counters::add(&self.counters.closed, 1);
        }
    }

    fn give_up(&mut self) {
        let left = self.connections.len() as u64;
        say(format_args!(
            "{left} connection(s) did not end in time and are closed"
        ));
        Counters::add(&self.counters.aborted, left);
        Counters::add(&self.counters.closed, left);
    }
}
