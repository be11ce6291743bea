//! A lock in shared memory that survives the death of its holder, and a holder that does not go on.
//!
//! There is no address in it: whoever writes the memory can keep others from the lock, and no more.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::map::MapError;
use super::thread;

/// The longest wait for a holder. Nobody waits again for one that has outlasted it.
const PATIENCE: Duration = Duration::from_micros(200);
/// Tries before the thread sleeps.
const SPINS: usize = 100;

/// In the lower half of the state: somebody sleeps until the lock is free.
const SLEEPERS: u64 = 1 << 31;
const HOLDER: u64 = SLEEPERS - 1;
/// One more acquisition, in the upper half of the state.
const ACQUIRED: u64 = 1 << 32;

/// The lock. Memory of zeros is a free one.
#[repr(C, align(64))]
pub struct Lock {
    /// The holder's thread, 0 when free, and [`SLEEPERS`]; above, how often the lock was acquired.
    state: AtomicU64,
    /// The upper half of the state in which a waiter lost patience.
    outlasted: AtomicU32,
    /// Operations that gave up.
    given_up: AtomicU64,
}

/// The lock while this thread holds it.
struct Held<'a> {
    lock: &'a Lock,
    state: u64,
    orphaned: bool,
}

impl Lock {
    /// Run `work` with the lock held; `repair` before it if the last holder died meanwhile.
    pub fn with<T>(
        &self,
        repair: impl FnOnce(),
        work: impl FnOnce() -> Result<T, MapError>,
    ) -> Result<T, MapError> {
        let held = self.acquire().ok_or(MapError::Busy)?;
        if held.orphaned {
            repair();
        }
        work()
    }

    /// Return how many operations gave up since the map was made.
    pub fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    fn acquire(&self) -> Option<Held<'_>> {
        let me = u64::from(thread::id());
        for _ in 0..SPINS {
            let state = self.state.load(Ordering::Relaxed);
            if state & HOLDER == 0
                && let Some(held) = self.take(state, me)
            {
                return Some(held);
            }
            std::hint::spin_loop();
        }
        let begun = Instant::now();
        loop {
            let state = self.state.load(Ordering::Relaxed);
            let (holder, holding) = ((state & HOLDER) as u32, (state >> 32) as u32);
            let held = holder != 0 && thread::is_alive(holder);
            // Others may sleep, too: this holder wakes the next.
            if !held && let Some(held) = self.take(state, me | SLEEPERS) {
                return Some(held);
            }
            let outlasted = held && self.outlasted.load(Ordering::Relaxed) == holding;
            match PATIENCE.checked_sub(begun.elapsed()) {
                Some(left) if !outlasted => self.sleep(state, left),
                _ => {
                    self.outlasted.store(holding, Ordering::Relaxed);
                    self.given_up.fetch_add(1, Ordering::Relaxed);
                    return None;
                }
            }
        }
    }

    /// Become the holder, unless the state has changed.
    fn take(&self, state: u64, holder: u64) -> Option<Held<'_>> {
        let count = (state & !(ACQUIRED - 1)).wrapping_add(ACQUIRED);
        let taken = count | holder | state & SLEEPERS;
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        let exchanged = self.state.compare_exchange(state, taken, acquire, relaxed);
        exchanged.ok().map(|_| Held {
            lock: self,
            state: taken | SLEEPERS,
            orphaned: state & HOLDER != 0,
        })
    }

    /// Sleep until the holder wakes one, for some time at most, unless the state has changed.
    fn sleep(&self, state: u64, time: Duration) {
        let marked = state | SLEEPERS;
        let relaxed = Ordering::Relaxed;
        if self
            .state
            .compare_exchange(state, marked, relaxed, relaxed)
            .is_err()
        {
            return;
        }
        let time = libc::timespec {
            tv_sec: 0,
            tv_nsec: time.subsec_nanos().into(),
        };
        // SAFETY: waits while the lower half, which comes first, is as it was marked.
        unsafe {
            let word = self.state.as_ptr().cast::<u32>();
            libc::syscall(
                libc::SYS_futex,
                word,
                libc::FUTEX_WAIT,
                marked as u32,
                &time,
            );
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let state = &self.lock.state;
        // Only if it is still this holder's: whoever writes the memory may have changed that.
        let free = |now: u64| (now | SLEEPERS == self.state).then_some(now & !(ACQUIRED - 1));
        let before = state.fetch_update(Ordering::Release, Ordering::Relaxed, free);
        if before.is_ok_and(|before| before & SLEEPERS != 0) {
            // SAFETY: wakes one that sleeps on the word, if any does.
            unsafe {
                let word = state.as_ptr().cast::<u32>();
                libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::Memory;

    /// Fork a process that takes the lock and stops, and wait until it has.
    fn stopped_holder(lock: &Lock) -> libc::pid_t {
        // SAFETY: the child neither allocates nor returns from here.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let _ = lock.with(|| {}, || Ok(libc::raise(libc::SIGSTOP)));
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, libc::WUNTRACED), child);
            assert!(libc::WIFSTOPPED(status));
            child
        }
    }

    fn end(child: libc::pid_t, signal: i32) {
        // SAFETY: the child made above, which is waited for.
        unsafe {
            libc::kill(child, signal);
            assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
        }
    }

    #[test]
    fn a_stopped_holder_blocks_nobody_and_a_dead_one_is_replaced() {
        let memory = Memory::anonymous(4096).unwrap();
        // SAFETY: zeroed memory of the mapping is a free lock.
        let lock = unsafe { &*memory.base().cast::<Lock>() };
        for signal in [libc::SIGCONT, libc::SIGKILL] {
            let before = lock.given_up();
            let child = stopped_holder(lock);
            for tries in 1..=3 {
                assert_eq!(lock.with(|| {}, || Ok(())), Err(MapError::Busy));
                assert_eq!(lock.given_up(), before + tries);
            }
            end(child, signal);
            let mut repaired = false;
            assert_eq!(lock.with(|| repaired = true, || Ok(7)), Ok(7));
            assert_eq!(repaired, signal == libc::SIGKILL);
        }
    }

    #[test]
    fn a_panic_with_the_lock_held_frees_it() {
        let memory = Memory::anonymous(4096).unwrap();
        // SAFETY: as above.
        let lock = unsafe { &*memory.base().cast::<Lock>() };
        let work = || {
            lock.with(
                || {},
                || -> Result<(), MapError> { panic!("as this test wants") },
            )
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
        assert_eq!(lock.with(|| panic!("nobody died"), || Ok(())), Ok(()));
    }

    #[test]
    fn any_bytes_are_a_lock_that_can_be_waited_for() {
        let memory = Memory::anonymous(4096).unwrap();
        // SAFETY: as above; all fields are numbers.
        let lock = unsafe { &*memory.base().cast::<Lock>() };
        for word in [u64::MAX, 1, SLEEPERS, HOLDER, 1 << 63 | 1, 0x7fff_ffff_f000] {
            for outlasted in [0, u32::MAX, (word >> 32) as u32] {
                lock.state.store(word, Ordering::Relaxed);
                lock.outlasted.store(outlasted, Ordering::Relaxed);
                let result = lock.with(|| {}, || Ok(()));
                assert!(matches!(result, Ok(()) | Err(MapError::Busy)), "{word:#x}");
            }
        }
    }
}
