//! The interface of a way of isolating. The runtime knows modes; processes are only one kind of
//! worker.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use crate::binary::Binary;
use crate::callee::Callee;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::slot::Slot;

/// The promise of a mode, while its kernel and whatever else it relies on keep theirs. SECURITY.md says
/// what that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// A binary gets nothing of the host's, and a call nothing of another caller's.
    Apart,
    /// The same by the same means; but the mode is here to be compared with, and nobody improves it.
    ReferenceOnly,
    /// Nothing but that limits hold.
    Limits,
}

impl Promise {
    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Promise::Apart => "nothing of the host's, nothing of another caller's",
            Promise::ReferenceOnly => "reference only",
            Promise::Limits => "limits alone: reference only",
        }
    }
}

/// The resources of one worker besides those of its binary; they are added to the limits of its
/// slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overhead {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u32,
}

/// A way of isolating binaries.
pub trait Mode: Send + Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// The protection between a binary and the host, in one sentence.
    fn summary(&self) -> &'static str;

    /// Return its promise about a hostile binary.
    fn promise(&self) -> Promise;

    /// Return how many keepers refill `workers` at once, on a machine with `cpus`.
    fn keepers(&self, workers: usize, cpus: usize) -> usize {
        workers.min(cpus)
    }

    /// The resources that one worker needs besides what its binary may use.
    fn overhead(&self) -> Overhead {
        Overhead::default()
    }

    /// Return true if its workers are processes, which control groups limit.
    fn has_processes(&self) -> bool {
        true
    }

    /// Return true if the standard error of its workers can be kept.
    fn has_logs(&self) -> bool {
        true
    }

    /// A binary with which the mode is tried before anything else is loaded.
    fn trial(&self) -> Option<Vec<u8>> {
        Some(crate::trial::binary())
    }

    /// Return true if its workers need rights of the host's that a stranger must not get. A daemon of root's
    /// then starts them in a process apart from its clients.
    fn has_rights(&self) -> bool {
        true
    }

    /// Refuse a binary that cannot run in it, or limits that it cannot keep.
    ///
    /// # Errors
    ///
    /// The refusal, in words.
    fn accept(&self, binary: &Binary, limits: &Limits) -> Result<(), String>;

    /// Prepare the template that workers of `binary` are made from, which is accepted: nothing here reads it.
    ///
    /// # Errors
    ///
    /// Why there can be none, in words: nothing is then loaded.
    fn prepare(&self, binary: Arc<Binary>, limits: &Limits) -> Result<Arc<dyn Template>, String>;
}

/// The template from which workers of one binary are made.
pub trait Template: Send + Sync {
    /// Set up the current thread, which will start up to so many workers at once, and return its spawner. The
    /// template may confine the thread for good.
    ///
    /// # Errors
    ///
    /// The step that failed, in words: no worker is then made.
    fn settle(&self, workers: usize) -> Result<Box<dyn Spawner>, String>;

    /// Check a ready worker from outside, by its process if it is one.
    ///
    /// # Errors
    ///
    /// The missing part of the promised isolation, in words. The binary is then unloaded.
    fn verify(&self, pid: Option<i32>) -> Result<(), String>;
}

/// Starts workers, on its own thread.
pub trait Spawner {
    /// Start one worker in an empty slot.
    ///
    /// # Errors
    ///
    /// The failure, in words.
    fn spawn(&mut self, slot: &Slot) -> Result<Box<dyn Worker>, String>;

    /// Remove what [`Spawner::spawn`] made beside the worker, which has ended.
    fn clear(&mut self, _slot: &Slot) {}

    /// Return true if another program starts the workers, which can fail for reasons that it alone knows.
    fn has_starter(&self) -> bool {
        false
    }

    /// Find out in an empty slot whether that program works, and return the finding in words. This may take
    /// half of the time that a start may.
    fn try_starter(&mut self, _slot: &Slot) -> Option<String> {
        None
    }

    /// Return the process that stays in a slot between two workers, if any.
    fn resident(&self, _slot: &Slot) -> Option<i32> {
        None
    }
}

/// A binary, started and isolated, which serves one call and is not used again.
pub trait Worker: Send {
    /// Return the descriptor that becomes readable when the worker may be ready, or `None` if it is
    /// ready at once.
    fn readiness(&self) -> Option<RawFd>;

    /// Read the worker's message before its call. Return true if the worker is ready.
    ///
    /// # Errors
    ///
    /// The reason why it never becomes ready, in words.
    fn read_ready(&mut self) -> Result<bool, String>;

    /// Take out the part of a ready worker that serves its call, which it has once.
    fn callee(&mut self) -> Option<Callee>;

    /// Return how it ended, which may take it so long yet.
    fn how(&self, patience: Duration) -> Failure;

    /// End it, whatever it is doing.
    fn kill(&mut self);

    /// The descriptor that becomes readable once it has ended; none if it ends as soon as it is killed.
    fn end(&self) -> Option<RawFd>;

    /// Collect what is left of it after its end. Return its CPU time in microseconds.
    fn reap(&mut self) -> u64;

    /// Its process, if it is one.
    fn pid(&self) -> Option<i32>;
}
