//! Durations and results of a handle's calls.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::failure::Failure;
use crate::order::Reaped;

/// Parts of a call, and of the life of the worker that serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// From the call to a worker for it.
    Wait,
    /// Writing the request.
    Send,
    /// From then to the whole response.
    Execute,
    /// From the response to the worker's end, collected.
    Reap,
    /// From the decision to start a worker to its ready byte.
    Refill,
}

impl Phase {
    /// Its name, as in reports.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Wait => "wait",
            Phase::Send => "send",
            Phase::Execute => "execute",
            Phase::Reap => "reap",
            Phase::Refill => "refill",
        }
    }
}

const PHASES: [Phase; 5] = [
    Phase::Wait,
    Phase::Send,
    Phase::Execute,
    Phase::Reap,
    Phase::Refill,
];

/// The counters so far.
#[derive(Debug)]
pub struct Metrics(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    ok: u64,
    shared: u64,
    failures: BTreeMap<&'static str, u64>,
    phases: Vec<Timing>,
    worker_cpu_us: u64,
    started: u64,
    failed_starts: u64,
    reaped: u64,
}

#[derive(Debug)]
struct Timing {
    count: u64,
    sum: Duration,
    times: Histogram<u64>,
}

/// Statistics of one phase.
#[derive(Debug, Serialize)]
pub struct PhaseReport {
    /// The number of calls.
    pub count: u64,
    /// Microseconds in all.
    pub sum_us: f64,
    /// Median since the histogram began, in microseconds.
    pub p50_us: f64,
    /// 99th percentile, likewise.
    pub p99_us: f64,
    /// Largest, likewise.
    pub max_us: f64,
}

/// Statistics of one handle since it was loaded.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Calls with a response.
    pub ok: u64,
    /// Of these, those whose payload was in shared memory.
    pub shared: u64,
    /// Calls without, by the kind of failure.
    pub failures: BTreeMap<&'static str, u64>,
    /// Workers started.
    pub started: u64,
    /// Workers that could not be started or never got ready.
    pub failed_starts: u64,
    /// Workers that were frozen, since they computed before they were called.
    pub frozen: u64,
    /// Workers that ended and were collected.
    pub reaped: u64,
    /// CPU time of all workers that were collected, in microseconds.
    pub worker_cpu_us: u64,
    /// Bytes said on standard error where that is kept.
    pub log_bytes: u64,
    /// Workers that are ready now.
    pub ready: usize,
    /// Calls that wait for one now.
    pub waiting: usize,
    /// The duration of each phase.
    pub phases: BTreeMap<&'static str, PhaseReport>,
}

/// Counts of others.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere {
    /// Workers that are ready now.
    pub ready: usize,
    /// Calls that wait for one now.
    pub waiting: usize,
    /// Bytes said on standard error where that is kept.
    pub log_bytes: u64,
    /// Workers that were frozen.
    pub frozen: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        let timing = || Timing {
            count: 0,
            sum: Duration::ZERO,
            times: Histogram::new_with_bounds(1, 3_600_000_000_000, 2)
                .expect("bounds that it allows"),
        };
        Metrics(Mutex::new(Inner {
            ok: 0,
            shared: 0,
            failures: BTreeMap::new(),
            phases: PHASES.iter().map(|_| timing()).collect(),
            worker_cpu_us: 0,
            started: 0,
            failed_starts: 0,
            reaped: 0,
        }))
    }
}

impl Metrics {
    fn with<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(
            &mut self
                .0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        )
    }

    /// A call ended, with the times of those of its parts that there were, its payload in `shared` memory
    /// or not.
    pub fn called<T>(
        &self,
        outcome: &Result<T, Failure>,
        times: &[(Phase, Duration)],
        shared: bool,
    ) {
        self.with(|inner| {
            match outcome {
                Ok(_) => {
                    inner.ok += 1;
                    inner.shared += u64::from(shared);
                }
                Err(failure) => *inner.failures.entry(failure.kind()).or_default() += 1,
            }
            for (phase, time) in times {
                inner.time(*phase, *time);
            }
        });
    }

    /// A worker is ready, `time` after the decision to start it.
    pub fn ready(&self, time: Duration) {
        self.with(|inner| {
            inner.started += 1;
            inner.time(Phase::Refill, time);
        });
    }

    /// A worker could not be started, or never got ready.
    pub fn failed_start(&self) {
        self.with(|inner| inner.failed_starts += 1);
    }

    /// A worker was collected.
    pub fn reaped(&self, Reaped { time, cpu_us }: Reaped) {
        self.with(|inner| {
            inner.reaped += 1;
            inner.worker_cpu_us += cpu_us;
            inner.time(Phase::Reap, time);
        });
    }

    /// All of it, with what others count. With `anew` the histograms, but not the counts and sums, begin
    /// anew.
    pub fn report(&self, elsewhere: Elsewhere, anew: bool) -> Report {
        let Elsewhere {
            ready,
            waiting,
            log_bytes,
            frozen,
        } = elsewhere;
        self.with(|inner| Report {
            ok: inner.ok,
            shared: inner.shared,
            failures: inner.failures.clone(),
            started: inner.started,
            failed_starts: inner.failed_starts,
            frozen,
            reaped: inner.reaped,
            worker_cpu_us: inner.worker_cpu_us,
            log_bytes,
            ready,
            waiting,
            phases: PHASES
                .iter()
                .map(|phase| (phase.name(), inner.phases[*phase as usize].report(anew)))
                .collect(),
        })
    }
}

impl Inner {
    fn time(&mut self, phase: Phase, time: Duration) {
        let timing = &mut self.phases[phase as usize];
        timing.count += 1;
        timing.sum += time;
        timing
            .times
            .saturating_record(time.as_nanos().try_into().unwrap_or(u64::MAX));
    }
}

impl Timing {
    fn report(&mut self, anew: bool) -> PhaseReport {
        let us = |ns: u64| ns as f64 / 1e3;
        let report = PhaseReport {
            count: self.count,
            sum_us: self.sum.as_secs_f64() * 1e6,
            p50_us: us(self.times.value_at_quantile(0.5)),
            p99_us: us(self.times.value_at_quantile(0.99)),
            max_us: us(self.times.max()),
        };
        if anew {
            self.times.reset();
        }
        report
    }
}
