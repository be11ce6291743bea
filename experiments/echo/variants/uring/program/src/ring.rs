//! The ring of one thread: operations in, completions out.

use std::os::fd::RawFd;

use anyhow::{Context, Result};
use echo_server::Counters;
use io_uring::squeue::Entry;
use io_uring::{IoUring, opcode, types};
use rustix::io::Errno;

use crate::buffers::GROUP;

const SUBMISSIONS: u32 = 1024;
const COMPLETIONS: u32 = 8192;

/// What an operation was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Accept,
    Stop,
    Deadline,
    Connect,
    Receive,
    Send,
    Cancel,
}

const KINDS: [Kind; 7] = [
    Kind::Accept,
    Kind::Stop,
    Kind::Deadline,
    Kind::Connect,
    Kind::Receive,
    Kind::Send,
    Kind::Cancel,
];

/// What an operation was for: its kind, and the connection and end that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub slot: usize,
    pub end: usize,
}

impl Token {
    /// Of no connection.
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            slot: 0,
            end: 0,
        }
    }

    pub fn encode(self) -> u64 {
        (self.kind as u64) << 56 | (self.slot as u64) << 1 | self.end as u64
    }

    pub fn decode(word: u64) -> Self {
        let kind = KINDS[(word >> 56) as usize];
        let slot = ((word & ((1 << 56) - 1)) >> 1) as usize;
        Self {
            kind,
            slot,
            end: (word & 1) as usize,
        }
    }
}

/// One completion: a count, a descriptor, or an error.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    pub token: Token,
    pub result: Result<u32, Errno>,
    /// The buffer that the kernel took.
    pub buffer: Option<u16>,
    /// Whether the same operation will complete again.
    pub more: bool,
}

/// The ring, and a place for its completions.
pub struct Ring<'a> {
    pub inner: IoUring,
    counters: &'a Counters,
    found: Vec<Completion>,
}

impl<'a> Ring<'a> {
    /// Completions are made when this thread waits for them, and by nobody else.
    pub fn new(counters: &'a Counters) -> Result<Self> {
        let inner = IoUring::builder()
            .setup_cqsize(COMPLETIONS)
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .build(SUBMISSIONS)
            .context(
                "the kernel does not set up an io_uring with DEFER_TASKRUN: it must be 6.1 or \
                 newer, with the sysctl kernel.io_uring_disabled at 0",
            )?;
        Ok(Self {
            inner,
            counters,
            found: Vec::new(),
        })
    }

    /// Submits what was asked for, waits for a completion, and returns all there are.
    pub fn turn(&mut self) -> Result<Vec<Completion>> {
        self.counters.called();
        match self.inner.submit_and_wait(1) {
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            other => drop(other.context("io_uring_enter")?),
        }
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        found.extend(
            self.inner.completion().map(|entry| Completion {
                token: Token::decode(entry.user_data()),
                result: u32::try_from(entry.result())
                    .map_err(|_| Errno::from_raw_os_error(-entry.result())),
                buffer: io_uring::cqueue::buffer_select(entry.flags()),
                more: io_uring::cqueue::more(entry.flags()),
            }),
        );
        Ok(found)
    }

    /// Takes the completions back, to use their memory again.
    pub fn done(&mut self, completions: Vec<Completion>) {
        self.found = completions;
    }

    /// Clients, until it fails.
    pub fn accept(&mut self, listener: RawFd) -> Result<()> {
        let accept = opcode::AcceptMulti::new(types::Fd(listener)).flags(libc::SOCK_CLOEXEC);
        self.push(accept.build(), Token::of(Kind::Accept))
    }

    /// Once it is readable or writable.
    pub fn poll(&mut self, fd: RawFd, events: i16, token: Token) -> Result<()> {
        self.push(
            opcode::PollAdd::new(types::Fd(fd), events as u32).build(),
            token,
        )
    }

    /// Pieces, until the stream ends or the buffers are used up.
    pub fn receive(&mut self, socket: RawFd, token: Token) -> Result<()> {
        self.push(
            opcode::RecvMulti::new(types::Fd(socket), GROUP).build(),
            token,
        )
    }

    /// Sends bytes that must stay where they are until it completes.
    pub fn send(
        &mut self,
        socket: RawFd,
        from: *const u8,
        count: u32,
        flags: i32,
        token: Token,
    ) -> Result<()> {
        let flags = flags | libc::MSG_NOSIGNAL;
        self.push(
            opcode::Send::new(types::Fd(socket), from, count)
                .flags(flags)
                .build(),
            token,
        )
    }

    /// Ends the operation that has `which` as its token.
    pub fn cancel(&mut self, which: Token, token: Token) -> Result<()> {
        self.push(opcode::AsyncCancel::new(which.encode()).build(), token)
    }

    /// Completes at a time from now; `time` must stay until then.
    pub fn timeout(&mut self, time: &types::Timespec) -> Result<()> {
        self.push(
            opcode::Timeout::new(time).build(),
            Token::of(Kind::Deadline),
        )
    }

    fn push(&mut self, entry: Entry, token: Token) -> Result<()> {
        let entry = entry.user_data(token.encode());
        // SAFETY: whoever asks keeps what the operation points to until it completes.
        while unsafe { self.inner.submission().push(&entry) }.is_err() {
            self.counters.called();
            self.inner.submit().context("io_uring_enter")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_token_comes_back_as_it_was(
            kind in 0..KINDS.len(), slot in 0..1usize << 55, end in 0..2usize
        ) {
            let token = Token { kind: KINDS[kind], slot, end };
            prop_assert_eq!(Token::decode(token.encode()), token);
        }
    }
}
