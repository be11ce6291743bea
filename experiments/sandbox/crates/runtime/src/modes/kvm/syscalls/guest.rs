//! A guest without its processor: its memory, what else its system calls change, and what they answer.

use std::time::Duration;

use crate::modes::kvm::areas::PAGE;
use crate::modes::kvm::channel::Stopped;
use crate::modes::kvm::memory::{LOWEST, Memory};
use crate::modes::kvm::wire::End;

/// Its socket's number.
pub const SOCKET: u64 = 3;

/// A call as the guest's registers have it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// The state that the guest's system calls change besides its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// The start and the current end of the memory of `brk`.
    pub breaks: (u64, u64),
    /// The end of other memory, below the stack.
    pub top: u64,
    /// The base of FS, by which it finds what is its thread's, and that of GS.
    pub bases: [u64; 2],
    /// This process's CPU time when the guest's was none.
    pub cpu_since: Duration,
}

/// A guest without its processor.
pub struct Guest {
    /// Its memory.
    pub memory: Memory,
    /// Its state besides its memory.
    pub own: Own,
}

/// The reason why a call returns no number: an error of the guest's, or the end of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// An error, by its number.
    Error(i32),
    /// The end of its run.
    End(End),
}

/// The result of a call, or why it has none.
pub type Answer = Result<u64, Instead>;

impl From<Stopped> for Instead {
    fn from(_: Stopped) -> Self {
        Instead::End(End::Stopped)
    }
}

/// Return an error of the guest's.
///
/// # Errors
///
/// Always.
pub fn error(number: i32) -> Answer {
    Err(Instead::Error(number))
}

impl Guest {
    /// Return the address of a guest's buffer in this process.
    pub(super) fn buffer(&self, at: u64, length: u64, write: bool) -> Result<*mut u8, Instead> {
        if length == 0 {
            return Ok(std::ptr::NonNull::dangling().as_ptr());
        }
        if let Some(found) = self.memory.find(at, length, write) {
            return Ok(found);
        }
        Err(if self.lacks_memory(at) {
            Instead::End(End::Memory)
        } else {
            Instead::Error(libc::EFAULT)
        })
    }

    /// Return true if the guest has mapped `at`, but there is no memory for it.
    pub fn lacks_memory(&self, at: u64) -> bool {
        let at = at / PAGE * PAGE;
        !self.memory.backs(at) && at < u64::MAX - PAGE && !self.memory.areas.none(at..at + PAGE)
    }

    pub(super) fn get<const N: usize>(&self, at: u64) -> Result<[u8; N], Instead> {
        self.buffer(at, N as u64, false)?;
        self.memory.read(at).ok_or(Instead::Error(libc::EFAULT))
    }

    /// Write a result, unless the guest wants none.
    pub(super) fn give(&mut self, at: u64, bytes: &[u8]) -> Answer {
        if at == 0 {
            return Ok(0);
        }
        self.buffer(at, bytes.len() as u64, true)?;
        if self.memory.write(at, bytes) {
            Ok(0)
        } else {
            error(libc::EFAULT)
        }
    }

    /// The lowest address that `mmap` may place anything at: some room for `brk` is left.
    pub(super) fn bottom(&self) -> u64 {
        const ROOM: u64 = 1 << 20;
        (self.own.breaks.1 + ROOM)
            .next_multiple_of(PAGE)
            .max(LOWEST)
    }
}
