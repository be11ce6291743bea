//! Memory that a launcher shares with its broker: what each worker of a binary does, so that a call
//! begins without a message. Of what the broker writes there, the launcher believes only that a worker
//! is called.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

const READY: u32 = 0;
const CALLED: u32 = 1;
const FROZEN: u32 = 2;

/// A word for each worker, and one that counts how often one was frozen.
#[derive(Debug)]
pub struct Board {
    memory: OwnedFd,
    words: NonNull<AtomicU32>,
    workers: usize,
}

// SAFETY: its words are atomic, and stay mapped as long as it lives.
unsafe impl Send for Board {}
// SAFETY: likewise.
unsafe impl Sync for Board {}

impl Board {
    /// Make one for so many workers.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn new(workers: usize) -> Result<Self, String> {
        let made = || -> rustix::io::Result<OwnedFd> {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::NOEXEC_SEAL;
            let memory = memfd_create("tare-board", flags)?;
            ftruncate(&memory, length(workers) as u64)?;
            let as_long = SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
            fcntl_add_seals(&memory, as_long)?;
            Ok(memory)
        };
        let memory = made().map_err(|error| format!("shared memory: {error}"))?;
        Self::open(memory, workers)
    }

    /// Open the one for so many workers that the launcher made.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn open(memory: OwnedFd, workers: usize) -> Result<Self, String> {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        let none = std::ptr::null_mut();
        // SAFETY: a fresh mapping, of memory that is as long and cannot become shorter.
        let mapped = unsafe { mmap(none, length(workers), both, MapFlags::SHARED, &memory, 0) };
        let mapped = mapped.map_err(|error| format!("shared memory: {error}"))?;
        let words = NonNull::new(mapped.cast()).ok_or("shared memory at address 0")?;
        Ok(Board {
            memory,
            words,
            workers,
        })
    }

    /// The memory, to pass on.
    pub fn memory(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }

    /// Write that a worker is called. Return true if it is frozen, which somebody must end then.
    pub fn call(&self, worker: usize) -> bool {
        self.word(worker).swap(CALLED, Ordering::SeqCst) == FROZEN
    }

    /// Return how often a worker was frozen so far.
    pub fn frozen(&self) -> u64 {
        self.at(0).load(Ordering::Relaxed).into()
    }

    /// Return the mark of one worker.
    pub fn mark(self: &Arc<Self>, worker: usize) -> Mark {
        Mark {
            board: self.clone(),
            worker,
        }
    }

    fn word(&self, worker: usize) -> &AtomicU32 {
        assert!(worker < self.workers, "worker {worker} of {}", self.workers);
        self.at(1 + worker)
    }

    fn at(&self, index: usize) -> &AtomicU32 {
        // SAFETY: within the mapping, which has a word for each worker behind the first one.
        unsafe { self.words.add(index).as_ref() }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: nothing points into it any more.
        let _ = unsafe { munmap(self.words.as_ptr().cast(), length(self.workers)) };
    }
}

fn length(workers: usize) -> usize {
    (1 + workers) * size_of::<AtomicU32>()
}

/// The launcher's side of one worker's word.
#[derive(Clone, Debug)]
pub struct Mark {
    board: Arc<Board>,
    worker: usize,
}

impl Mark {
    /// Write that a worker is ready.
    pub fn ready(&self) {
        self.board.word(self.worker).store(READY, Ordering::SeqCst);
    }

    /// Return true if the worker is called.
    pub fn is_called(&self) -> bool {
        self.board.word(self.worker).load(Ordering::SeqCst) == CALLED
    }

    /// Write that the worker is frozen, and count that. Return false if it is called by now.
    pub fn freeze(&self) -> bool {
        let word = self.board.word(self.worker);
        let order = Ordering::SeqCst;
        let written = word.compare_exchange(READY, FROZEN, order, order).is_ok();
        if written {
            self.board.at(0).fetch_add(1, Ordering::Relaxed);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_called_is_not_frozen_and_who_is_frozen_is_found_out_by_the_call() {
        let board = Arc::new(Board::new(2).unwrap());
        let other = Board::open(board.memory().try_clone_to_owned().unwrap(), 2).unwrap();
        let (first, second) = (board.mark(0), board.mark(1));
        assert!(!other.call(0) && first.is_called() && !first.freeze());
        assert!(second.freeze() && !second.is_called());
        assert!(other.call(1) && second.is_called());
        assert_eq!(other.frozen(), 1);
        first.ready();
        assert!(!first.is_called() && first.freeze());
        // Whatever else is written there is no call.
        board.word(0).store(7, Ordering::SeqCst);
        assert!(!first.is_called() && !first.freeze());
    }
}
