//! Sends requests by the clock, or as fast as they are answered, and measures the answers.
//!
//! The engine is generic over [`Protocol`]: threads, connections, phases and statistics are here.

pub mod arrivals;
pub mod cpu;
mod limits;
mod poller;
pub mod progress;
pub mod tally;
mod timeline;
mod worker;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use self::arrivals::Arrivals;
use self::cpu::CpuTime;
use self::progress::{Second, Seconds};
use self::tally::Tally;
use self::timeline::Timeline;
use self::worker::Worker;
use crate::protocol::Protocol;
use crate::spec::Pace;

/// How often the main thread looks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// How much load, when, and from where. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Load {
    /// Connections over all threads; at least one for each.
    pub connections: usize,
    /// Worker threads.
    pub threads: usize,
    /// Thread *i* runs on `cpus[i % len]`; anywhere if empty.
    pub cpus: Vec<usize>,
    /// When requests are sent.
    pub pace: Pace,
    /// Load before the window.
    pub warmup: u64,
    /// The window.
    pub duration: u64,
    /// Load after the window.
    pub cooldown: u64,
    /// How long a connection or an answer may take, and the drain.
    pub timeout: u64,
    /// Connections opened per second; all at once if absent.
    pub ramp_per_s: Option<f64>,
    /// Seed of the arrivals.
    pub seed: u64,
}

/// Which part of a run a second began in.
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

/// Who is told how a run goes on. Times are in seconds since the start.
pub trait Observer {
    /// A second has passed.
    ///
    /// # Errors
    /// Ends the run.
    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()>;

    /// The window has opened.
    ///
    /// # Errors
    /// Ends the run.
    fn measure(&mut self, t_s: f64) -> io::Result<()>;

    /// The window has closed.
    ///
    /// # Errors
    /// Ends the run.
    fn measured(&mut self, t_s: f64) -> io::Result<()>;
}

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
        let watched = watch(load, &timeline, &seconds, observer, interrupt);
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

/// Tells the observer how the run goes on until it ends; returns the CPU time of the window.
fn watch(
    load: &Load,
    timeline: &Timeline,
    seconds: &mpsc::Receiver<Second>,
    observer: &mut impl Observer,
    interrupt: &AtomicBool,
) -> io::Result<CpuTime> {
    let mut sum = Seconds::new(load.threads);
    let mut cpu_at_start = None;
    let mut cpu = None;
    loop {
        let now = timeline.now();
        let boundary = timeline.boundary_after(now).unwrap_or(u64::MAX);
        let wait = LOOK.min(Duration::from_nanos(boundary - now));
        let mut ended = false;
        match seconds.recv_timeout(wait) {
            Ok(second) => {
                if let Some(second) = sum.add(second) {
                    observer.second(&second, phase(&second, timeline))?;
                }
            }
            Err(error) => ended = error == RecvTimeoutError::Disconnected,
        }
        if interrupt.swap(false, Relaxed) {
            timeline.cut();
        }
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
            return Ok(cpu.unwrap_or_default());
        }
    }
}

fn phase(second: &Second, timeline: &Timeline) -> Phase {
    let begin = second.index * 1_000_000_000;
    if begin < timeline.start() {
        Phase::Warmup
    } else if begin < timeline.end() {
        Phase::Measure
    } else {
        Phase::Drain
    }
}
