//! Progress of a run, reported while it lasts.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::cpu::CpuTime;
use super::progress::{Second, Seconds};
use super::timeline::Timeline;

/// Interval at which the main thread looks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// The part of a run in which most of a second lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the window.
    Warmup,
    /// In the window.
    Measure,
    /// After it.
    Drain,
}

impl Phase {
    /// Its name in the formats.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Warmup => "warmup",
            Phase::Measure => "measure",
            Phase::Drain => "drain",
        }
    }
}

/// Receives the progress of a run. Times are in seconds since the start.
pub trait Observer {
    /// Take a description of the run for people, once, before its first event.
    ///
    /// # Errors
    /// Ends the run.
    fn described(&mut self, _text: &str) -> io::Result<()> {
        Ok(())
    }

    /// Note that the run waits for its start, and could begin.
    ///
    /// # Errors
    /// Ends the run.
    fn ready(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Take a look between events, several times a second.
    ///
    /// # Errors
    /// Ends the run.
    fn look(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Note that a second has passed.
    ///
    /// # Errors
    /// Ends the run.
    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()>;

    /// Note that the window has opened.
    ///
    /// # Errors
    /// Ends the run.
    fn measure(&mut self, t_s: f64) -> io::Result<()>;

    /// Note that the window has closed.
    ///
    /// # Errors
    /// Ends the run.
    fn measured(&mut self, t_s: f64) -> io::Result<()>;
}

/// The figures of a run that its threads do not know.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// CPU time of the process in the window.
    pub cpu: CpuTime,
    /// Correct answers of each thread in each second that lay whole within the window.
    pub thread_seconds: Vec<u64>,
    /// True if an interrupt ended the window or the drain.
    pub interrupted: bool,
}

/// Report progress to the observer until the run ends, early after an `interrupt`.
pub fn watch(
    threads: usize,
    timeline: &Timeline,
    seconds: &Receiver<Second>,
    observer: &mut (impl Observer + ?Sized),
    interrupt: &AtomicBool,
) -> io::Result<Watched> {
    let mut sum = Seconds::new(threads);
    let mut cpu_at_start = None;
    let mut cpu = None;
    let mut thread_seconds = Vec::new();
    let mut interrupted = false;
    let mut ended = false;
    loop {
        if interrupt.swap(false, Relaxed) {
            interrupted = true;
            timeline.interrupt();
        }
        observer.look()?;
        let now = timeline.now();
        let t_s = now as f64 / 1e9;
        if cpu_at_start.is_none() && now >= timeline.start() && timeline.start() < timeline.end() {
            cpu_at_start = Some(CpuTime::of_process());
            observer.measure(t_s)?;
        }
        if let (Some(start), None, true) = (cpu_at_start, cpu, now >= timeline.end()) {
            cpu = Some(CpuTime::of_process().since(start));
            observer.measured(t_s)?;
        }
        if ended {
            return Ok(Watched {
                cpu: cpu.unwrap_or_default(),
                thread_seconds,
                interrupted,
            });
        }
        let boundary = timeline.boundary_after(now).unwrap_or(u64::MAX);
        let wait = LOOK.min(Duration::from_nanos(boundary - now));
        match seconds.recv_timeout(wait) {
            Ok(second) => {
                if second.is_whole()
                    && second.begin() >= timeline.start()
                    && second.end() <= timeline.end()
                {
                    thread_seconds.push(second.latency.len());
                }
                for second in sum.add(second) {
                    observer.second(&second, phase(&second, timeline))?;
                }
            }
            Err(error) => ended = error == RecvTimeoutError::Disconnected,
        }
    }
}

/// The phase in which most of a second lies.
fn phase(second: &Second, timeline: &Timeline) -> Phase {
    phase_of(
        second.begin()..second.end(),
        timeline.start()..timeline.end(),
    )
}

fn phase_of(second: Range<u64>, window: Range<u64>) -> Phase {
    let before = second.end.min(window.start).saturating_sub(second.start);
    let opened = second.start.max(window.start);
    let within = second.end.min(window.end).saturating_sub(opened);
    let after = second.end.saturating_sub(second.start.max(window.end));
    if within > 0 && within >= before.max(after) {
        Phase::Measure
    } else if before > after || second.is_empty() && second.start < window.start {
        Phase::Warmup
    } else {
        Phase::Drain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_of_the_phase_in_which_most_of_it_lies() {
        let phase = |second: Range<u64>, window: Range<u64>| phase_of(second, window).name();
        assert_eq!(phase(0..1000, 200..1200), "measure");
        assert_eq!(phase(0..1000, 800..1800), "warmup");
        assert_eq!(phase(0..1000, 0..1000), "measure");
        assert_eq!(phase(1000..2000, 200..1200), "drain");
        assert_eq!(phase(1000..1210, 200..1200), "measure");
        assert_eq!(phase(1000..1002, 0..1000), "drain");
        assert_eq!(phase(0..1000, 200..200), "drain", "stopped in its warm-up");
        assert_eq!(phase(0..0, 200..1200), "warmup");
    }
}
