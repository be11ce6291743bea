//! Processors, each of which has a copy of the values of maps per CPU.

use std::sync::OnceLock;

/// Return how many processors the machine may have: the copies of a value.
pub fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        // SAFETY: takes a number only.
        let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
        usize::try_from(count).unwrap_or(1).max(1)
    })
}

/// Return the number of the running thread's processor, below [`count`].
pub fn current() -> usize {
    // SAFETY: takes nothing and cannot fail on Linux.
    let cpu = unsafe { libc::sched_getcpu() };
    // Modulo: a processor that was added since is not known.
    usize::try_from(cpu).unwrap_or(0) % count()
}
