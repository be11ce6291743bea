//! The ring of one thread: operations in, completions out.

use std::os::fd::RawFd;

use anyhow::{Context, Result, ensure};
use echo_server::Counters;
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, types};
use rustix::io::Errno;

use crate::token::{Kind, Token};

/// One completion: a count, a descriptor, or an error.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The operation's purpose.
    pub token: Token,
    /// The operation's result.
    pub result: Result<u32, Errno>,
    /// The buffer that the kernel took.
    pub buffer: Option<u16>,
    /// True if the same operation will complete again.
    pub more: bool,
}

/// A ring, and a place for its completions.
pub struct Ring<'a> {
    inner: IoUring,
    counters: &'a Counters,
    found: Vec<Completion>,
    /// Operations that complete while they are submitted, and what comes of them if nobody says.
    at_once: Vec<Completion>,
    /// Somebody waits for one of those.
    hurry: bool,
    /// Microseconds for which more completions than the first are waited for.
    min_wait_us: u32,
}

impl<'a> Ring<'a> {
    /// Count its system calls in `counters`.
    pub fn new(inner: IoUring, counters: &'a Counters) -> Self {
        Self {
            inner,
            counters,
            found: Vec::new(),
            at_once: Vec::new(),
            hurry: false,
            min_wait_us: 0,
        }
    }

    /// From now on waits so long for more than one completion, where the kernel can.
    pub fn gather(&mut self, min_wait_us: u32) -> Result<()> {
        ensure!(
            self.inner.params().is_feature_min_timeout(),
            "the kernel cannot wait for several completions for a time: it must be 6.12 or newer"
        );
        self.min_wait_us = min_wait_us;
        Ok(())
    }

    /// Submits what was asked for, waits for a completion, and returns all there are. Where it
    /// gathers, it waits for `most` of them as long as it may.
    pub fn turn(&mut self, most: usize) -> Result<Vec<Completion>> {
        self.counters.called();
        let submitter = self.inner.submitter();
        let wanted = usize::from(!std::mem::take(&mut self.hurry));
        let submitted = if wanted == 0 || self.min_wait_us == 0 {
            submitter.submit_and_wait(wanted)
        } else {
            // Without an end to the wait for the first the kernel ends it with the minimum wait.
            let long = Timespec::new().sec(3600);
            let patience = SubmitArgs::new()
                .min_wait_usec(self.min_wait_us)
                .timespec(&long);
            submitter.submit_with_args(most.max(1), &patience)
        };
        match submitted {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::ETIME)) => {}
            other => drop(other.context("io_uring_enter")?),
        }
        ensure!(
            self.inner.submission().is_empty(),
            "the kernel has no memory for operations"
        );
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
        let sends = found.iter().filter(|each| each.token.kind == Kind::Send);
        let told: Vec<Token> = sends.map(|each| each.token).collect();
        self.at_once.retain(|each| !told.contains(&each.token));
        // They came first: what they held up is free for what else there is.
        found.splice(0..0, self.at_once.drain(..));
        Ok(found)
    }

    /// Take the completions back, to use their memory again.
    pub fn done(&mut self, completions: Vec<Completion>) {
        self.found = completions;
    }

    /// Once it is readable or writable.
    pub fn poll(&mut self, fd: RawFd, events: i16, token: Token) -> Result<()> {
        let poll = opcode::PollAdd::new(types::Fd(fd), events as u32);
        self.push(poll.build(), token)
    }

    /// End the operation that has `which` as its token.
    pub fn cancel(&mut self, which: Token, token: Token) -> Result<()> {
        self.push(opcode::AsyncCancel::new(which.encode()).build(), token)
    }

    /// End all operations of a connection with so many ends. Return how many were asked for that.
    pub fn cancel_all(&mut self, slot: usize, ends: usize) -> Result<u32> {
        let mut asked = 0;
        for end in 0..ends {
            for kind in [Kind::Connect, Kind::Receive, Kind::Send] {
                let token = Token::new(Kind::Cancel, slot, end);
                self.cancel(Token::new(kind, slot, end), token)?;
                asked += 1;
            }
        }
        Ok(asked)
    }

    /// Completes at a time from now; `time` must stay until then.
    pub fn timeout(&mut self, time: &types::Timespec, token: Token) -> Result<()> {
        self.push(opcode::Timeout::new(time).build(), token)
    }

    /// Ask for an operation. What it points to must stay until it completes.
    pub fn push(&mut self, entry: Entry, token: Token) -> Result<()> {
        let entry = entry.user_data(token.encode());
        // SAFETY: the caller keeps what the operation points to until it completes.
        while unsafe { self.inner.submission().push(&entry) }.is_err() {
            self.counters.called();
            self.inner.submit().context("io_uring_enter")?;
        }
        Ok(())
    }

    /// Likewise, of a send that never waits, so that it has completed when it is submitted: all
    /// `count` bytes, or the kernel says otherwise. Nobody wakes up for it, unless told to `hurry`.
    pub fn push_at_once(&mut self, entry: Entry, count: u32, token: Token) -> Result<()> {
        self.push(entry.flags(Flags::SKIP_SUCCESS), token)?;
        self.at_once.push(Completion {
            token,
            result: Ok(count),
            buffer: None,
            more: false,
        });
        Ok(())
    }

    /// The next turn waits for nothing but what completes at once.
    pub fn hurry(&mut self) {
        self.hurry = true;
    }

    /// To register with.
    pub fn inner(&self) -> &IoUring {
        &self.inner
    }
}
