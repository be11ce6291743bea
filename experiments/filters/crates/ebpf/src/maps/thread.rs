//! Threads by the kernel's numbers, which holders of locks in shared memory go by.

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of forks up to this process: a thread of the parent is another one in the child.
static FORKS: AtomicU32 = AtomicU32::new(0);
static WATCHED: Once = Once::new();

/// Return the number of the running thread, which is not 0.
pub fn id() -> u32 {
    thread_local! {
        /// The number, and `FORKS` when it was looked up.
        static KNOWN: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    }
    WATCHED.call_once(|| {
        // SAFETY: the function only adds to a number. It fails for want of memory at most.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        assert_eq!(failed, 0, "no memory to watch for forks");
    });
    let forks = FORKS.load(Ordering::Relaxed);
    let (known, looked_up) = KNOWN.get();
    if known != 0 && looked_up == forks {
        return known;
    }
    // SAFETY: takes nothing and cannot fail.
    let id = unsafe { libc::gettid() } as u32;
    KNOWN.set((id, forks));
    id
}

unsafe extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Return false if no thread has the number any more. Processes that share maps see the same numbers:
/// they run in one PID namespace.
pub fn is_alive(id: u32) -> bool {
    // SAFETY: signal 0 is sent to nobody.
    let sent = unsafe { libc::syscall(libc::SYS_tkill, id as libc::pid_t, 0) };
    sent == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}
