//! Read into a buffer, write from it: the data path that most servers have.

use std::os::fd::BorrowedFd;

use anyhow::Result;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::counters::Counters;
use crate::readiness::{Mover, State};

/// Bytes read at once; the buffer stays in the cache.
const PIECE: usize = 64 << 10;

/// One buffer for all connections of a thread; a flow keeps only what its destination did not take.
#[derive(Debug)]
pub struct Copy {
    buffer: Vec<u8>,
}

/// What a destination did not take yet.
#[derive(Debug, Default)]
pub struct Rest {
    bytes: Vec<u8>,
    written: usize,
}

impl Copy {
    /// For one thread.
    pub fn new() -> Self {
        Self {
            buffer: vec![0; PIECE],
        }
    }
}

impl Default for Copy {
    fn default() -> Self {
        Self::new()
    }
}

impl Mover for Copy {
    type Flow = Rest;

    fn flow(&mut self) -> Result<Rest> {
        Ok(Rest::default())
    }

    fn pump(
        &mut self,
        rest: &mut Rest,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        counters: &Counters,
    ) -> Result<State, Errno> {
        if !rest.bytes.is_empty() {
            rest.written += write(to, &rest.bytes[rest.written..], counters)?;
            if rest.written < rest.bytes.len() {
                return Ok(State::Blocked);
            }
            *rest = Rest::default();
        }
        counters.called();
        let count = match recv(from, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => return Ok(State::Ended),
            Ok((count, _)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(State::Reading),
            Err(error) => return Err(error),
        };
        let written = write(to, &self.buffer[..count], counters)?;
        counters.forwarded(count);
        if written == count {
            return Ok(State::Reading);
        }
        rest.bytes.extend_from_slice(&self.buffer[written..count]);
        Ok(State::Blocked)
    }
}

/// What `to` takes of `bytes` now.
fn write(to: BorrowedFd<'_>, bytes: &[u8], counters: &Counters) -> Result<usize, Errno> {
    counters.called();
    match send(to, bytes, SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        other => other,
    }
}
