//! The data path: what is received is sent on from where it was received.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use anyhow::Result;
use echo_ring::{Completion, Kind, Path, Ring, Token, clients};
use echo_server::sockets::{abort_on_close, connecting};
use echo_server::{Counters, Options, Thread};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use slab::Slab;

use crate::buffers::{Buffers, Pool};
use crate::flow::{AT_ONCE, Flow, Next};
use crate::operations;

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

/// Serve one thread.
pub fn work(thread: Thread<'_>, pool: &Pool, min_wait_us: u32) -> Result<()> {
    let (counters, options) = (thread.counters, thread.options);
    let mut ring = Ring::new(operations::ring()?, counters);
    if min_wait_us > 0 {
        ring.gather(min_wait_us)?;
    }
    let buffers = Buffers::register(ring.inner(), pool)?;
    let (connections, starved) = (Slab::new(), Vec::new());
    let mut own = Loop {
        ring,
        buffers,
        counters,
        options,
        connections,
        starved,
    };
    clients::work(thread, &mut own)
}

impl<'a> Path<'a> for Loop<'a> {
    fn ring(&mut self) -> &mut Ring<'a> {
        &mut self.ring
    }

    fn connections(&self) -> usize {
        self.connections.len()
    }

    fn accept(&mut self, listener: RawFd) -> Result<()> {
        self.ring
            .push(operations::accept(listener), Token::of(Kind::Accept))
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
        let token = Token::new(Kind::Connect, slot, BACKEND);
        self.ring.poll(backend.as_raw_fd(), libc::POLLOUT, token)
    }

    fn completed(&mut self, completion: &Completion) -> Result<()> {
        let Token { kind, slot, end } = completion.token;
        if !completion.more {
            self.connections[slot].under_way -= 1;
        }
        match kind {
            Kind::Receive => {
                self.received(slot, end, completion)?;
                if self.connections[slot].flows[end].waits_at_once() {
                    self.ring.hurry();
                }
            }
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

    /// Receives again for directions that found no buffer.
    fn turned(&mut self) -> Result<()> {
        if self.starved.is_empty() {
            return Ok(());
        }
        self.buffers.more();
        for (slot, end) in std::mem::take(&mut self.starved) {
            if self.connections.contains(slot) {
                self.receive(slot, end)?;
            }
        }
        Ok(())
    }
}

impl Loop<'_> {
    fn connected(&mut self, slot: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        if !clients::answered(&connection.ends[BACKEND])? {
            return self.abort(slot);
        }
        connection.joined = true;
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
                    let which = Token::new(Kind::Receive, slot, end);
                    self.ring
                        .cancel(which, Token::new(Kind::Cancel, slot, end))?;
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

    /// Pass an end on, and receives again where there is room again.
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

    /// Receives from an end, unless that is under way, over, or to wait.
    fn receive(&mut self, slot: usize, end: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        let flow = &mut connection.flows[end];
        let idle = !flow.receiving && !flow.ended && flow.has_room();
        if connection.joined && !connection.dead && idle {
            flow.receiving = true;
            connection.under_way += 1;
            let receive = operations::receive(connection.ends[end].as_raw_fd());
            self.ring
                .push(receive, Token::new(Kind::Receive, slot, end))?;
        }
        Ok(())
    }

    fn send(&mut self, slot: usize, end: usize, next: Option<Next>) -> Result<()> {
        let Some(next) = next else {
            return Ok(());
        };
        let connection = &mut self.connections[slot];
        connection.under_way += 1;
        let sink = connection.ends[connection.ends.len() - 1 - end].as_raw_fd();
        let token = Token::new(Kind::Send, slot, end);
        let send = operations::send(sink, &next);
        if next.flags == AT_ONCE {
            self.ring.push_at_once(send, next.count, token)
        } else {
            self.ring.push(send, token)
        }
    }

    /// Give a connection up: what is under way is cancelled, and the peers are reset.
    fn abort(&mut self, slot: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        connection.dead = true;
        connection.ends.iter().for_each(abort_on_close);
        Counters::add(&self.counters.aborted, 1);
        connection.under_way += self.ring.cancel_all(slot, connection.ends.len())?;
        Ok(())
    }

    /// Close a connection that has ended, once nothing of it is under way.
    fn bury(&mut self, slot: usize) {
        let connection = &self.connections[slot];
        let ended = connection.dead || connection.flows.iter().all(|flow| flow.closed);
        if ended && connection.under_way == 0 {
            drop(self.connections.remove(slot));
            Counters::add(&self.counters.closed, 1);
        }
    }
}
