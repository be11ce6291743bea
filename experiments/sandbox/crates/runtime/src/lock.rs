//! Locks: of threads, which survive a panic of their holder, and of processes, which end with theirs,
//! whatever namespace it is in.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, flock};

/// Take a lock, whether or not a thread has panicked while it held it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file or folder that no other process can hold meanwhile.
#[derive(Debug)]
pub(crate) struct Held(#[allow(dead_code)] File);

/// Hold a file or folder, unless somebody does.
pub(crate) fn hold(file: File) -> Option<Held> {
    let held = flock(&file, FlockOperation::NonBlockingLockExclusive);
    held.is_ok().then_some(Held(file))
}

/// Hold a file or folder once nobody else does.
pub(crate) fn wait_for(file: File) -> std::io::Result<Held> {
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(Held(file))
}
