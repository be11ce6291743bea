//! The data path: each operation's completion asks for the next.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result};
use echo_ring::{Completion, Kind, Path, Ring, Token, clients};
use echo_server::sockets::{abort_on_close, connecting};
use echo_server::{Counters, Options, Thread};
use io_uring::squeue::Entry;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use slab::Slab;

const ENTRIES: u32 = 4096;
const PIECE: usize = 16 << 10;
const BACKEND: usize = 1;
/// One direction: it either receives into its buffer, or sends what is there.
struct Flow {
    buffer: Box<[u8]>,
    filled: usize,
    sent: usize,
    ended: bool,
}

/// Flow i receives from end i; an echo has one end, to which it also sends.
struct Connection {
    ends: Vec<OwnedFd>,
    flows: Vec<Flow>,
    /// Operations that have not completed: until then its memory and descriptors stay.
    under_way: u32,
    /// It is given up.
    dead: bool,
}

struct Loop<'a> {
    // Before the connections: the kernel uses their memory for as long as there is a ring.
    ring: Ring<'a>,
    connections: Slab<Connection>,
    counters: &'a Counters,
    options: &'a Options,
}

/// Serve one thread.
pub fn work(thread: Thread<'_>) -> Result<()> {
    let ring = IoUring::new(ENTRIES).context(
        "the kernel does not set up an io_uring: it must be 5.11 or newer, with the sysctl \
         kernel.io_uring_disabled at 0",
    )?;
    let mut own = Loop {
        ring: Ring::new(ring, thread.counters),
        connections: Slab::new(),
        counters: thread.counters,
        options: thread.options,
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
        let (null, listener) = (std::ptr::null_mut(), Fd(listener));
        let accept = opcode::Accept::new(listener, null, null.cast()).flags(libc::SOCK_CLOEXEC);
        self.ring.push(accept.build(), Token::of(Kind::Accept))
    }

    fn take(&mut self, client: OwnedFd) -> Result<()> {
        let mut ends = vec![client];
        if let Some(backend) = self.options.upstream() {
            ends.push(connecting(backend, self.options)?);
        }
        let flow = |_| Flow {
            buffer: vec![0; PIECE].into_boxed_slice(),
            filled: 0,
            sent: 0,
            ended: false,
        };
        let flows = ends.iter().map(flow).collect();
        let slot = self.connections.insert(Connection {
            ends,
            flows,
            under_way: 0,
            dead: false,
        });
        if let Some(backend) = self.connections[slot].ends.get(BACKEND) {
            let connected = opcode::PollAdd::new(Fd(backend.as_raw_fd()), libc::POLLOUT as u32);
            return self.start(connected.build(), Token::new(Kind::Connect, slot, BACKEND));
        }
        self.receive(slot, 0)
    }

    fn completed(&mut self, completion: &Completion) -> Result<()> {
        let Token { kind, slot, end } = completion.token;
        let connection = &mut self.connections[slot];
        connection.under_way -= 1;
        if !connection.dead {
            match (kind, completion.result) {
                (Kind::Connect, _) => self.connected(slot)?,
                (Kind::Receive, Ok(0)) => self.ended(slot, end)?,
                (Kind::Receive, Ok(count)) => {
                    self.counters.forwarded(count as usize);
                    let flow = &mut connection.flows[end];
                    (flow.filled, flow.sent) = (count as usize, 0);
                    self.send(slot, end)?;
                }
                (Kind::Send, Ok(count)) => {
                    let flow = &mut connection.flows[end];
                    flow.sent += count as usize;
                    if flow.sent < flow.filled {
                        self.send(slot, end)?;
                    } else {
                        self.receive(slot, end)?;
                    }
                }
                (Kind::Receive, Err(Errno::INTR)) => self.receive(slot, end)?,
                (Kind::Send, Err(Errno::INTR)) => self.send(slot, end)?,
                (Kind::Cancel, _) => {}
                _ => self.abort(slot)?,
            }
        }
        let connection = &self.connections[slot];
        let ended = connection.dead || connection.flows.iter().all(|flow| flow.ended);
        if ended && connection.under_way == 0 {
            drop(self.connections.remove(slot));
            Counters::add(&self.counters.closed, 1);
        }
        Ok(())
    }
}

impl Loop<'_> {
    fn connected(&mut self, slot: usize) -> Result<()> {
        if !clients::answered(&self.connections[slot].ends[BACKEND])? {
            return self.abort(slot);
        }
        self.receive(slot, 0)?;
        self.receive(slot, BACKEND)
    }

    /// The source of a direction ended; all it sent has been sent on.
    fn ended(&mut self, slot: usize, end: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        connection.flows[end].ended = true;
        let across = connection.ends.len() - 1 - end;
        if across != end && shutdown(&connection.ends[across], Shutdown::Write).is_err() {
            return self.abort(slot);
        }
        Ok(())
    }

    fn receive(&mut self, slot: usize, end: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        let socket = Fd(connection.ends[end].as_raw_fd());
        let buffer = &mut connection.flows[end].buffer;
        let receive = opcode::Recv::new(socket, buffer.as_mut_ptr(), buffer.len() as u32);
        self.start(receive.build(), Token::new(Kind::Receive, slot, end))
    }

    fn send(&mut self, slot: usize, end: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        let socket = Fd(connection.ends[connection.ends.len() - 1 - end].as_raw_fd());
        let flow = &connection.flows[end];
        let rest = &flow.buffer[flow.sent..flow.filled];
        let send = opcode::Send::new(socket, rest.as_ptr(), rest.len() as u32);
        let send = send.flags(libc::MSG_NOSIGNAL).build();
        self.start(send, Token::new(Kind::Send, slot, end))
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

    fn start(&mut self, entry: Entry, token: Token) -> Result<()> {
        self.connections[token.slot].under_way += 1;
        self.ring.push(entry, token)
    }
}
