//! Begin and end of a run's phases, in nanoseconds since its start.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use super::load::Load;

/// Notice of an early end, in nanoseconds, so that every thread sees it before it comes.
const NOTICE: u64 = 5_000_000;

/// The run's clock and its phases: warm-up, window, cool-down, drain.
#[derive(Debug)]
pub struct Timeline {
    origin: Instant,
    origin_ns: u64,
    start: u64,
    end: AtomicU64,
    stop: AtomicU64,
    drain: AtomicU64,
    /// Threads that have requests of a fixed number left to make.
    unfinished: AtomicUsize,
}

impl Timeline {
    /// The phases of `load`, from now.
    pub fn new(load: &Load) -> Self {
        let end = load.warmup + load.duration;
        let clock = clock_gettime(ClockId::Monotonic);
        Timeline {
            origin: Instant::now(),
            origin_ns: clock.tv_sec as u64 * 1_000_000_000 + clock.tv_nsec as u64,
            start: load.warmup,
            end: AtomicU64::new(end),
            stop: AtomicU64::new(end + load.cooldown),
            drain: AtomicU64::new(load.timeouts.answer),
            unfinished: AtomicUsize::new(load.threads),
        }
    }

    /// The time since the start.
    pub fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// The start, in nanoseconds of the monotonic clock.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// The time at which the window opens.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The time at which the window closes; not after `start` if the run was ended before.
    pub fn end(&self) -> u64 {
        self.end.load(Relaxed)
    }

    /// The time of the last intended send.
    pub fn stop(&self) -> u64 {
        self.stop.load(Relaxed)
    }

    /// The time at which the run stops waiting for answers.
    pub fn deadline(&self) -> u64 {
        self.stop() + self.drain.load(Relaxed)
    }

    /// Return true if `time` lies in the window.
    pub fn in_window(&self, time: u64) -> bool {
        time >= self.start && time < self.end()
    }

    /// The part of the window before `time`, in nanoseconds.
    pub fn window_before(&self, time: u64) -> u64 {
        time.min(self.end()).saturating_sub(self.start)
    }

    /// The first boundary after `time`.
    pub fn boundary_after(&self, time: u64) -> Option<u64> {
        let boundaries = [self.start, self.end(), self.stop(), self.deadline()];
        boundaries.into_iter().find(|boundary| *boundary > time)
    }

    /// Note that one thread has made all its requests of a fixed number. The window ends with the
    /// last thread.
    pub fn finish(&self) {
        if self.unfinished.fetch_sub(1, Relaxed) == 1 {
            let now = self.now();
            self.end.fetch_min(now, Relaxed);
            self.stop.fetch_min(now, Relaxed);
        }
    }

    /// An instant as the time since the start.
    pub fn at(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.origin).as_nanos() as u64
    }

    /// Take an interrupt: the first ends the window and the load, a further one the drain.
    pub fn interrupt(&self) {
        if self.now() < self.stop() {
            self.cut();
        } else {
            self.drain.store(0, Relaxed);
        }
    }

    /// End the load now, and the wait for its answers.
    pub fn abort(&self) {
        self.cut();
        self.drain.store(0, Relaxed);
    }

    /// End the window and the load now.
    pub fn cut(&self) {
        let end = self.now() + NOTICE;
        self.end.fetch_min(end, Relaxed);
        self.stop.fetch_min(end, Relaxed);
    }
}
