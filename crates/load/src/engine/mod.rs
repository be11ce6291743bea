//! Sends requests by the clock, or as fast as they are answered, and measures the answers.
//!
//! The engine is generic over [`Protocol`]; it has the threads, connections, phases and statistics.

pub mod accounts;
pub mod arrivals;
pub mod batches;
pub mod cpu;
mod duty;
mod limits;
mod load;
pub mod log;
pub mod picks;
mod poller;
pub mod progress;
pub mod rates;
pub mod rounds;
pub mod slices;
pub mod tally;
mod timeline;
pub mod times;
mod watch;
mod worker;

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender};
use std::thread;

use self::cpu::CpuTime;
pub use self::load::{Load, Share, Timeouts};
use self::progress::Second;
use self::tally::Tally;
use self::timeline::Timeline;
use self::watch::Watched;
pub use self::watch::{Observer, Phase};
use self::worker::Worker;
use crate::protocol::Protocol;

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The window's true length, in seconds.
    pub window_s: f64,
    /// All threads' counts and histograms.
    pub tally: Tally,
    /// The same by target.
    pub targets: Vec<Tally>,
    /// The run's start, in nanoseconds of the monotonic clock.
    pub origin_ns: u64,
    /// CPU time of the process in the window.
    pub cpu: CpuTime,
    /// Correct answers of each thread in each second that lay whole within the window.
    pub thread_seconds: Vec<u64>,
    /// True if an interrupt ended the window or the drain.
    pub interrupted: bool,
}

/// Run `load` with one protocol per thread, made by `protocol` from the thread's number. A set
/// `interrupt` ends the window early; set again, it ends the drain.
///
/// # Errors
/// When the kernel refuses a thread, its CPU, its descriptors or a poller, or the observer fails.
pub fn run<P: Protocol>(
    load: &Load,
    protocol: impl Fn(usize) -> P + Sync,
    observer: &mut (impl Observer + ?Sized),
    interrupt: &AtomicBool,
) -> io::Result<Outcome> {
    let separate = limits::allow(load.connections(), load.threads)?;
    if !load.cpus.is_empty() {
        cpu::pin(&load.cpus)?;
    }
    let timeline = Timeline::new(load);
    let (sender, seconds) = mpsc::channel();
    thread::scope(|scope| {
        let start = |index| {
            let (timeline, protocol, sender) = (&timeline, &protocol, sender.clone());
            let name = format!("load-{index}");
            let work = move || {
                if separate {
                    limits::separate()?;
                }
                work(load, index, timeline, protocol(index), sender)
            };
            // Without one thread there is no result: the others would load the servers in vain.
            let work = move || work().inspect_err(|_| timeline.abort());
            thread::Builder::new().name(name).spawn_scoped(scope, work)
        };
        let workers: io::Result<Vec<_>> = (0..load.threads).map(start).collect();
        let workers = workers.inspect_err(|_| timeline.abort())?;
        drop(sender);
        let watched = watch::watch(load.threads, &timeline, &seconds, observer, interrupt);
        if watched.is_err() {
            timeline.abort();
        }
        let mut targets = vec![Tally::default(); load.targets.len()];
        for worker in workers {
            let done = worker.join().expect("a worker does not panic")?;
            let pairs = targets.iter_mut().zip(&done);
            pairs.for_each(|(sum, more)| sum.merge(more));
        }
        let Watched {
            cpu,
            thread_seconds,
            interrupted,
        } = watched?;
        let mut tally = Tally::default();
        targets.iter().for_each(|target| tally.merge(target));
        Ok(Outcome {
            window_s: timeline.window_before(timeline.end()) as f64 / 1e9,
            tally,
            targets,
            origin_ns: timeline.origin_ns(),
            cpu,
            thread_seconds,
            interrupted,
        })
    })
}

/// Make one thread's part of `load`.
fn work<P: Protocol>(
    load: &Load,
    index: usize,
    timeline: &Timeline,
    protocol: P,
    seconds: Sender<Second>,
) -> io::Result<Vec<Tally>> {
    if !load.cpus.is_empty() {
        cpu::pin(&[load.cpus[index % load.cpus.len()]])?;
    }
    let duty = duty::of(load, index);
    Worker::new(protocol, timeline, duty, load.targets.len(), seconds)?.run()
}
