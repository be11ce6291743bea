//! Locks: of threads, which survive a panic of their holder, and of processes, which end with theirs,
//! whatever namespace it is in.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

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

/// Hold a file or folder as soon as nobody else does, or fail with the time over: whoever may open it can
/// hold it for ever.
pub(crate) fn wait_for(file: File, patience: Duration) -> Result<Held, Errno> {
    let begun = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if begun.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other.map(|()| Held(file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_holds_for_ever_is_not_waited_for_as_long() {
        let name = format!("tare-held-{}", std::process::id());
        let place = std::env::temp_dir().join(name);
        std::fs::create_dir(&place).unwrap();
        let open = || File::open(&place).unwrap();
        let theirs = hold(open()).unwrap();
        let why = wait_for(open(), Duration::from_millis(30)).unwrap_err();
        assert_eq!(why, Errno::WOULDBLOCK);
        drop(theirs);
        wait_for(open(), Duration::ZERO).unwrap();
        std::fs::remove_dir(place).unwrap();
    }
}
