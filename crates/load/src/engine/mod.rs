//! Sends requests by the clock, or as fast as they are answered, and measures the answers.
//!
//! The engine is generic over [`Protocol`]: threads, connections, phases and statistics are here.

pub mod arrivals;
pub mod cpu;
mod limits;
mod load;
mod poller;
pub mod progress;
pub mod tally;
mod timeline;
mod watch;
mod worker;

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender};
use std::thread;

use self::arrivals::Arrivals;
use self::cpu::CpuTime;
pub use self::load::Load;
use self::progress::Second;
use self::tally::Tally;
use self::timeline::Timeline;
pub use self::watch::{Observer, Phase};
use self::worker::Worker;
use crate::protocol::Protocol;
use crate::spec::Pace;

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The window's true length, in seconds.
    pub window_s: f64,
    /// All threads' counts and histograms.
    pub tally: Tally,
    /// CPU time of the process in the window.
    pub cpu: CpuTime,
}

/// Runs `load` with one protocol a thread, made by `protocol`. A set `interrupt` ends the window
/// early.
///
/// # Errors
/// When the kernel refuses a thread, its CPU, its descriptors or a poller, or the observer fails.
pub fn run<P: Protocol>(
    load: &Load,
    protocol: impl Fn() -> P + Sync,
    observer: &mut impl Observer,
    interrupt: &AtomicBool,
) -> io::Result<Outcome> {
    limits::allow(load.connections)?;
    if !load.cpus.is_empty() {
        cpu::pin(&load.cpus)?;
    }
    let timeline = Timeline::new(load);
    let (sender, seconds) = mpsc::channel();
    thread::scope(|scope| {
        let start = |index| {
            let (timeline, protocol, sender) = (&timeline, &protocol, sender.clone());
            let name = format!("load-{index}");
            let work = move || work(load, index, timeline, protocol(), sender);
            thread::Builder::new().name(name).spawn_scoped(scope, work)
        };
        let workers: Vec<_> = (0..load.threads).map(start).collect::<io::Result<_>>()?;
        drop(sender);
        let watched = watch::watch(load.threads, &timeline, &seconds, observer, interrupt);
        if watched.is_err() {
            timeline.cut();
        }
        let mut tally = Tally::default();
        for worker in workers {
            tally.merge(&worker.join().expect("a worker does not panic")?);
        }
        Ok(Outcome {
            window_s: timeline.window_before(timeline.end()) as f64 / 1e9,
            tally,
            cpu: watched?,
        })
    })
}

/// One thread's work: its share of `load`.
fn work<P: Protocol>(
    load: &Load,
    index: usize,
    timeline: &Timeline,
    protocol: P,
    seconds: Sender<Second>,
) -> io::Result<Tally> {
    if !load.cpus.is_empty() {
        cpu::pin(&[load.cpus[index % load.cpus.len()]])?;
    }
    let arrivals = match load.pace {
        Pace::Closed => None,
        Pace::Open { rate, arrivals } => {
            cpu::sharpen_timers()?;
            Some(Arrivals::new(
                arrivals,
                rate,
                load.seed,
                index,
                load.threads,
            ))
        }
    };
    let gap = load.ramp_per_s.map_or(0.0, |ramp| 1e9 / ramp);
    let share = (index..load.connections).step_by(load.threads);
    let openings = share.map(|number| (number as f64 * gap) as u64).collect();
    Worker::new(
        protocol,
        timeline,
        load.timeout,
        openings,
        arrivals,
        seconds,
    )?
    .run()
}
