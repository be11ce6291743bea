//! What a way of isolating must offer. The runtime knows modes, and processes only as one kind of
//! worker.

use std::os::fd::RawFd;
use std::sync::Arc;

use crate::binary::Binary;
use crate::call::{Attempt, Terms};
use crate::limits::Limits;
use crate::slot::Slot;

/// What one worker needs besides what its binary may use: it is added to the limits of its slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overhead {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u32,
}

/// A way of isolating binaries.
pub trait Mode: Send + Sync {
    /// As the command line calls it.
    fn name(&self) -> &'static str;

    /// In one sentence, what stands between a binary and the host.
    fn summary(&self) -> &'static str;

    /// Return how many keepers refill `workers` at once, on a machine with `cpus`.
    fn keepers(&self, workers: usize, cpus: usize) -> usize {
        workers.min(cpus)
    }

    /// The resources that one worker needs besides what its binary may use.
    fn overhead(&self) -> Overhead {
        Overhead::default()
    }

    /// Return whether its workers are processes, which control groups limit.
    fn has_processes(&self) -> bool {
        true
    }

    /// Return whether the standard error of its workers can be kept.
    fn has_logs(&self) -> bool {
        true
    }

    /// A binary with which the mode is tried before anything else is loaded.
    fn trial(&self) -> Option<Vec<u8>> {
        Some(crate::trial::binary())
    }

    /// Prepare the template that workers of `binary` are made from.
    ///
    /// # Errors
    ///
    /// Why there can be none, in words: nothing is then loaded.
    fn prepare(&self, binary: Arc<Binary>, limits: &Limits) -> Result<Arc<dyn Template>, String>;
}

/// What workers of one binary are made from.
pub trait Template: Send + Sync {
    /// Called on the thread that will make workers, which the template may confine for good.
    ///
    /// # Errors
    ///
    /// What could not be set up, in words: no worker is then made.
    fn settle(&self) -> Result<Box<dyn Nursery>, String>;

    /// Looks at a ready worker from outside.
    ///
    /// # Errors
    ///
    /// What of the promised isolation is missing, in words: the binary is then unloaded.
    fn verify(&self, worker: &dyn Worker) -> Result<(), String>;
}

/// Makes workers, on a thread of its own.
pub trait Nursery {
    /// Starts one worker in a slot that nothing else is in.
    ///
    /// # Errors
    ///
    /// What failed, in words.
    fn spawn(&mut self, slot: &Slot) -> Result<Box<dyn Worker>, String>;

    /// Takes away what [`Nursery::spawn`] made beside the worker, which has ended.
    fn clear(&mut self, _slot: &Slot) {}

    /// The process of its own that stays in a slot between two workers.
    fn staying(&self, _slot: &Slot) -> Option<i32> {
        None
    }
}

/// A binary, started and isolated, which serves one call and is not used again.
pub trait Worker: Send {
    /// The descriptor that becomes readable when it has something to say before its call; none if it is
    /// ready at once.
    fn signs_of_life(&self) -> Option<RawFd>;

    /// Read what it said before its call. Return whether it is ready.
    ///
    /// # Errors
    ///
    /// Why it never will be, in words.
    fn greet(&mut self) -> Result<bool, String>;

    /// Serves a call.
    fn call(&mut self, request: &[u8], terms: &Terms) -> Attempt;

    /// Ends it, whatever it is doing.
    fn kill(&mut self);

    /// The descriptor that becomes readable once it has ended; none if it ends as soon as it is killed.
    fn end(&self) -> Option<RawFd>;

    /// Collect what is left of it after its end. Return its CPU time in microseconds.
    fn reap(&mut self) -> u64;

    /// Its process, if it is one.
    fn pid(&self) -> Option<i32>;
}
