//! A lock in shared memory that survives the death of who holds it.

use std::ptr;

/// A robust mutex between processes.
#[repr(C, align(64))]
pub struct Lock(libc::pthread_mutex_t);

/// The state in which the lock was taken.
#[derive(PartialEq, Eq)]
pub enum Taken {
    /// In order.
    Clean,
    /// Its holder died: what it guards may be half changed.
    Orphaned,
}

impl Lock {
    /// Make the lock, free, in memory that nobody else uses yet.
    pub fn make(place: *mut Self) {
        let mut attributes = std::mem::MaybeUninit::uninit();
        // SAFETY: `place` is memory for a lock; the attributes are initialised before they are used.
        unsafe {
            libc::pthread_mutexattr_init(attributes.as_mut_ptr());
            let attributes = attributes.as_mut_ptr();
            libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST);
            libc::pthread_mutex_init(ptr::addr_of_mut!((*place).0), attributes);
            libc::pthread_mutexattr_destroy(attributes);
        }
    }

    /// Run `work` with the lock held; `repair` before it if the last holder died.
    pub fn with<T>(lock: *mut Self, repair: impl FnOnce(), work: impl FnOnce() -> T) -> T {
        // SAFETY: the lock was made before the maps were declared ready.
        let taken = unsafe {
            let mutex = ptr::addr_of_mut!((*lock).0);
            if libc::pthread_mutex_lock(mutex) == libc::EOWNERDEAD {
                libc::pthread_mutex_consistent(mutex);
                Taken::Orphaned
            } else {
                Taken::Clean
            }
        };
        if taken == Taken::Orphaned {
            repair();
        }
        let result = work();
        // SAFETY: held by this thread.
        unsafe { libc::pthread_mutex_unlock(ptr::addr_of_mut!((*lock).0)) };
        result
    }
}
