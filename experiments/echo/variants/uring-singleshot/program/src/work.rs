//! The event loop of one thread: each operation's completion asks for the next.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result, bail};
use echo_server::accept::Acceptor;
use echo_server::log::say;
use echo_server::sockets::{abort_on_close, connecting, set_blocking, verify};
use echo_server::{Counters, Options, Thread};
use io_uring::squeue::Entry;
use io_uring::types::{Fd, Timespec};
use io_uring::{IoUring, opcode};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown, sockopt};
use slab::Slab;

const ENTRIES: u32 = 4096;
const PIECE: usize = 16 << 10;
const BACKEND: usize = 1;
/// A slot that no connection has.
const NOBODY: usize = usize::MAX >> 9;

// What an operation was for, in the high byte of its user data.
const ACCEPT: u8 = 0;
const STOP: u8 = 1;
const DEADLINE: u8 = 2;
const CONNECT: u8 = 3;
const RECEIVE: u8 = 4;
const SEND: u8 = 5;
const CANCEL: u8 = 6;

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
    ring: IoUring,
    connections: Slab<Connection>,
    counters: &'a Counters,
    options: &'a Options,
}

/// Serves one thread.
pub fn work(thread: Thread<'_>) -> Result<()> {
    let Thread {
        listener,
        stop,
        counters,
        options,
    } = thread;
    set_blocking(&listener, true)?;
    let mut acceptor = Some(Acceptor::new(listener)?);
    let ring = IoUring::new(ENTRIES).context(
        "the kernel does not set up an io_uring: it must be 5.11 or newer, with the sysctl \
         kernel.io_uring_disabled at 0",
    )?;
    let mut own = Loop {
        ring,
        connections: Slab::new(),
        counters,
        options,
    };
    own.accept(acceptor.as_ref().expect("just made"))?;
    own.push(
        opcode::PollAdd::new(Fd(stop.as_raw_fd()), libc::POLLIN as u32).build(),
        STOP,
        0,
        0,
    )?;
    let drain = Timespec::from(options.drain());
    let mut found = Vec::new();
    while acceptor.is_some() || !own.connections.is_empty() {
        counters.called();
        match own.ring.submit_and_wait(1) {
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            other => drop(other.context("io_uring_enter")?),
        }
        found.extend(
            own.ring
                .completion()
                .map(|each| (each.user_data(), each.result())),
        );
        for (word, result) in found.drain(..) {
            let (kind, slot, end) = decode(word);
            let result = u32::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
            match kind {
                ACCEPT => own.accepted(result, acceptor.as_mut())?,
                STOP => {
                    let accept = encode(ACCEPT, 0, 0);
                    own.push(opcode::AsyncCancel::new(accept).build(), CANCEL, NOBODY, 0)?;
                    own.push(opcode::Timeout::new(&drain).build(), DEADLINE, 0, 0)?;
                    let last = acceptor.take();
                    own.take_last(last)?;
                }
                DEADLINE => {
                    own.give_up();
                    return Ok(());
                }
                _ if own.connections.contains(slot) => own.completed(kind, slot, end, result)?,
                _ => {}
            }
        }
    }
    Ok(())
}

impl Loop<'_> {
    fn accepted(
        &mut self,
        result: Result<u32, Errno>,
        acceptor: Option<&mut Acceptor>,
    ) -> Result<()> {
        let mut full = false;
        match result {
            // SAFETY: the kernel has just made the descriptor for this completion.
            Ok(fd) => self.admit(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })?,
            Err(Errno::MFILE | Errno::NFILE) => full = true,
            Err(Errno::CANCELED | Errno::CONNABORTED | Errno::INTR) => {}
            Err(error) => bail!("accept: {error}"),
        }
        if let Some(acceptor) = acceptor {
            if full {
                acceptor.turn_away()?;
            }
            self.accept(acceptor)?;
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
            return self.start(connected.build(), CONNECT, slot, BACKEND);
        }
        self.receive(slot, 0)
    }

    fn completed(
        &mut self,
        kind: u8,
        slot: usize,
        end: usize,
        result: Result<u32, Errno>,
    ) -> Result<()> {
        let connection = &mut self.connections[slot];
        connection.under_way -= 1;
        if !connection.dead {
            match (kind, result) {
                (CONNECT, _) => self.connected(slot)?,
                (RECEIVE, Ok(0)) => self.ended(slot, end)?,
                (RECEIVE, Ok(count)) => {
                    self.counters.forwarded(count as usize);
                    let flow = &mut connection.flows[end];
                    (flow.filled, flow.sent) = (count as usize, 0);
                    self.send(slot, end)?;
                }
                (SEND, Ok(count)) => {
                    let flow = &mut connection.flows[end];
                    flow.sent += count as usize;
                    if flow.sent < flow.filled {
                        self.send(slot, end)?;
                    } else {
                        self.receive(slot, end)?;
                    }
                }
                (RECEIVE, Err(Errno::INTR)) => self.receive(slot, end)?,
                (SEND, Err(Errno::INTR)) => self.send(slot, end)?,
                (CANCEL, _) => {}
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

    fn connected(&mut self, slot: usize) -> Result<()> {
        let backend = &self.connections[slot].ends[BACKEND];
        if sockopt::socket_error(backend)?.is_err() {
            return self.abort(slot);
        }
        // A non-blocking socket would make the kernel give up instead of waiting.
        set_blocking(backend, true)?;
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

    fn accept(&mut self, acceptor: &Acceptor) -> Result<()> {
        let (null, listener) = (std::ptr::null_mut(), Fd(acceptor.listener().as_raw_fd()));
        let accept = opcode::Accept::new(listener, null, null.cast()).flags(libc::SOCK_CLOEXEC);
        self.push(accept.build(), ACCEPT, 0, 0)
    }

    fn receive(&mut self, slot: usize, end: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        let socket = Fd(connection.ends[end].as_raw_fd());
        let buffer = &mut connection.flows[end].buffer;
        let receive = opcode::Recv::new(socket, buffer.as_mut_ptr(), buffer.len() as u32);
        self.start(receive.build(), RECEIVE, slot, end)
    }

    fn send(&mut self, slot: usize, end: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        let socket = Fd(connection.ends[connection.ends.len() - 1 - end].as_raw_fd());
        let flow = &connection.flows[end];
        let rest = &flow.buffer[flow.sent..flow.filled];
        let send = opcode::Send::new(socket, rest.as_ptr(), rest.len() as u32);
        self.start(send.flags(libc::MSG_NOSIGNAL).build(), SEND, slot, end)
    }

    /// Gives a connection up: what is under way is cancelled, and the peers are reset.
    fn abort(&mut self, slot: usize) -> Result<()> {
        let connection = &mut self.connections[slot];
        connection.dead = true;
        connection.ends.iter().for_each(abort_on_close);
        Counters::add(&self.counters.aborted, 1);
        for end in 0..connection.ends.len() {
            for kind in [CONNECT, RECEIVE, SEND] {
                let which = encode(kind, slot, end);
                self.start(opcode::AsyncCancel::new(which).build(), CANCEL, slot, end)?;
            }
        }
        Ok(())
    }

    fn give_up(&mut self) {
        let left = self.connections.len() as u64;
        say(format_args!(
            "{left} connection(s) did not end in time and are closed"
        ));
        Counters::add(&self.counters.aborted, left);
        Counters::add(&self.counters.closed, left);
    }

    fn start(&mut self, entry: Entry, kind: u8, slot: usize, end: usize) -> Result<()> {
        self.connections[slot].under_way += 1;
        self.push(entry, kind, slot, end)
    }

    fn push(&mut self, entry: Entry, kind: u8, slot: usize, end: usize) -> Result<()> {
        let entry = entry.user_data(encode(kind, slot, end));
        // SAFETY: a connection's buffers and descriptors stay until nothing of it is under way.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.counters.called();
            self.ring.submit().context("io_uring_enter")?;
        }
        Ok(())
    }
}

fn encode(kind: u8, slot: usize, end: usize) -> u64 {
    u64::from(kind) << 56 | (slot as u64) << 1 | end as u64
}

fn decode(word: u64) -> (u8, usize, usize) {
    (
        (word >> 56) as u8,
        ((word & ((1 << 56) - 1)) >> 1) as usize,
        (word & 1) as usize,
    )
}
