//! The result of a run, as docs/FORMAT.md describes it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::judgement::Judgement;
use super::outcomes::{Outcomes, deviations, encoded, max_us, outcomes, quantile_us};
use super::replay::ReplayReport;
use super::rounds::{RoundReport, SliceReport, elsewhere, ordinary_p99_us};
use super::shape::Deviation;
use super::threads::{Ramp, ThreadSeconds};
use crate::answers::Kept;
use crate::engine::tally::{Counts, Failures};
use crate::engine::{Load, Outcome};
use crate::protocol::{Failure, Kind};
use crate::spec::{Pace, SCHEMA};
use crate::stream::tls::negotiated::TlsReport;
use crate::stream::tls::trust::Trust;

/// The last line of the instrument protocol.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename = "result")]
pub struct Result {
    schema: u32,
    instrument: &'static str,
    /// The protocol, as the spec writes it.
    pub protocol: String,
    /// The URL of the sole target, which a file of requests may name.
    #[serde(skip)]
    pub url: Option<String>,
    /// True if a signal ended the run before its time.
    pub stopped_early: bool,
    /// The window's length.
    pub window_s: f64,
    /// The measured quantities.
    pub outcomes: Outcomes,
    /// The load.
    pub load: LoadReport,
    /// The window's failures.
    pub errors: Errors,
    /// The window's answers by status.
    pub statuses: BTreeMap<usize, u64>,
    /// The whole run's answers and failures.
    pub total: Total,
    /// The targets by themselves, if the spec lists any.
    pub targets: Vec<TargetReport>,
    /// The slices in which they took turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slices: Option<SliceReport>,
    /// The first answers as they came, if they were kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<String>,
    /// The answers to all requests, in their order, if they were asked once each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answered>,
    /// Answers whose times found no room in their file.
    #[serde(skip_serializing_if = "is_zero")]
    pub times_dropped: u64,
    /// The reason why that file is not whole.
    #[serde(skip)]
    pub times_fault: Option<io::Error>,
    /// The comparison with the log that was replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayReport>,
    /// The outcome of the TLS handshakes, if the run had any.
    pub tls: Option<TlsReport>,
    /// The answers of single threads in single seconds, if there are several such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_seconds: Option<ThreadSeconds>,
    /// The opening of connections one after the other, if they were not opened at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Ramp>,
    /// The way in which the servers' certificates were verified, if they had any.
    pub certificates: Option<Trust>,
    /// The conditions that the run was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Judgement>,
    /// The latencies of correct answers, in nanoseconds.
    #[serde(skip)]
    pub latency: Histogram<u64>,
    /// The standard deviations of the distributions that have values.
    #[serde(skip)]
    pub deviations: BTreeMap<&'static str, Deviation>,
    histograms: BTreeMap<&'static str, String>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A request that was asked once, and its answer.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Answered {
    pub request: String,
    pub answer: Option<Kept>,
}

/// One of several targets.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct TargetReport {
    pub name: String,
    pub url: String,
    pub connections: usize,
    pub offered: u64,
    pub completed: u64,
    pub unfinished: u64,
    pub answered: u64,
    pub outcomes: Outcomes,
    pub errors: Errors,
    pub statuses: BTreeMap<usize, u64>,
    pub total: Total,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundReport>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<&'static str, String>,
}

/// The load, and the figures that show whether the generator kept up.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct LoadReport {
    #[serde(rename = "loop")]
    pub pace: &'static str,
    pub arrivals: Option<&'static str>,
    pub rate: Option<f64>,
    pub connections: usize,
    pub threads: usize,
    pub offered: u64,
    pub completed: u64,
    pub unfinished: u64,
    /// Answers that came within the window.
    #[serde(skip)]
    pub came: u64,
    /// Those of them that are correct.
    #[serde(skip)]
    pub answered: u64,
    /// The number of requests, if it was fixed.
    #[serde(skip)]
    pub requests: Option<u64>,
    /// True if the window had all its time.
    #[serde(skip)]
    pub timed_out: bool,
    pub in_flight_mean: f64,
    pub send_lag_p50_us: Option<f64>,
    pub send_lag_p99_us: Option<f64>,
    pub send_lag_max_us: Option<f64>,
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    pub cpu_busiest_thread: f64,
}

/// Failures by the names of their kinds, all of them.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Errors(pub BTreeMap<&'static str, u64>);

/// Failures of one kind for one reason.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Reason {
    pub kind: &'static str,
    pub why: &'static str,
    pub count: u64,
}

/// The counts that a variant's own counters must agree with.
#[derive(Debug, Serialize)]
pub struct Total {
    /// Answers from the first to the last.
    pub requests: u64,
    /// Those of them without a failure.
    #[serde(skip)]
    pub correct: u64,
    /// The same by status.
    pub statuses: BTreeMap<usize, u64>,
    /// Failures from the first to the last.
    pub errors: Errors,
    /// Those of requests whose connection, which had carried answers, ended before a byte came.
    pub lost_kept: u64,
    /// The same, of connections that had carried none.
    pub lost_new: u64,
    /// The failures by reason, the most frequent first.
    pub reasons: Vec<Reason>,
}

impl From<&Failures> for Errors {
    fn from(failures: &Failures) -> Self {
        let count = |kind: Kind| (kind.name(), failures.of(kind));
        Errors(Kind::ALL.into_iter().map(count).collect())
    }
}

impl From<&Counts> for Total {
    fn from(counts: &Counts) -> Self {
        Total {
            requests: counts.statuses().map(|(_, count)| count).sum(),
            correct: counts.correct,
            statuses: counts.statuses().collect(),
            errors: (&counts.failures).into(),
            lost_kept: counts.lost.kept,
            lost_new: counts.lost.new,
            reasons: reasons(&counts.failures),
        }
    }
}

fn reasons(failures: &Failures) -> Vec<Reason> {
    let reason = |(failure, count): (Failure, u64)| Reason {
        kind: failure.kind.name(),
        why: failure.why,
        count,
    };
    let mut all: Vec<Reason> = failures.iter().map(reason).collect();
    all.sort_by_key(|reason| Reverse(reason.count));
    all
}

impl Errors {
    /// All kinds together.
    pub fn sum(&self) -> u64 {
        self.0.values().sum()
    }
}

impl Result {
    /// Failures of the whole run, and requests without an answer.
    pub fn failures(&self) -> u64 {
        self.total.errors.sum() + self.load.unfinished
    }

    /// The result of `outcome`, measured with `load` over `protocol` on targets with these names
    /// and URLs.
    pub fn new(protocol: &str, names: &[(String, String)], load: &Load, outcome: &Outcome) -> Self {
        let Outcome {
            window_s, tally, ..
        } = outcome;
        let window = window_s.max(f64::MIN_POSITIVE);
        let parts = load.slices.map(|_| RoundReport::all(&outcome.targets));
        let mut parts = parts.into_iter().flatten();
        let p99_us = load.slices.map(|_| ordinary_p99_us(&outcome.targets));
        let target = |(index, (name, url)): (usize, &(String, String))| {
            let tally = &outcome.targets[index];
            let mut outcomes = outcomes(tally, window);
            if let Some(each) = &p99_us {
                outcomes.insert("ordinary_latency_p99_us".into(), each[index]);
                outcomes.insert("cpu_elsewhere_share".into(), elsewhere(tally));
            }
            TargetReport {
                name: name.clone(),
                url: url.clone(),
                connections: load.targets[index].connections,
                offered: tally.offered,
                completed: tally.correct,
                unfinished: tally.unfinished,
                answered: tally.answered,
                outcomes,
                errors: (&tally.window.failures).into(),
                statuses: tally.window.statuses().collect(),
                total: (&tally.total).into(),
                rounds: parts.next(),
                histograms: match load.slices {
                    Some(_) => encoded(tally),
                    None => BTreeMap::new(),
                },
            }
        };
        Result {
            schema: SCHEMA,
            instrument: concat!("tare-load ", env!("CARGO_PKG_VERSION")),
            protocol: protocol.into(),
            url: None,
            stopped_early: outcome.interrupted,
            window_s: *window_s,
            outcomes: outcomes(tally, window),
            load: LoadReport::new(load, outcome),
            errors: (&tally.window.failures).into(),
            statuses: tally.window.statuses().collect(),
            total: (&tally.total).into(),
            targets: names.iter().enumerate().map(target).collect(),
            slices: load.slices.map(|slices| SliceReport::new(slices, outcome)),
            samples: Vec::new(),
            answers: Vec::new(),
            times_dropped: 0,
            times_fault: None,
            replay: None,
            tls: None,
            thread_seconds: ThreadSeconds::of(&outcome.thread_seconds),
            ramp: load.ramp_per_s.map(|rate| Ramp::new(rate, load.threads)),
            certificates: None,
            conditions: Vec::new(),
            latency: tally.latency.clone(),
            deviations: deviations(tally),
            histograms: encoded(tally),
        }
    }
}

impl LoadReport {
    fn new(load: &Load, outcome: &Outcome) -> Self {
        let Outcome {
            window_s,
            tally,
            cpu,
            ..
        } = outcome;
        LoadReport {
            pace: load.pace.name(),
            arrivals: match load.pace {
                Pace::Open { arrivals, .. } => Some(arrivals.name()),
                _ => None,
            },
            rate: match load.pace {
                Pace::Open { rate, .. } => Some(load.mean_rate(*window_s).unwrap_or(rate)),
                Pace::Closed { limit } | Pace::Serial { limit } => limit,
            },
            connections: load.connections(),
            threads: load.threads,
            offered: tally.offered,
            completed: tally.correct,
            unfinished: tally.unfinished,
            came: tally.came,
            answered: tally.answered,
            requests: load.requests,
            timed_out: *window_s >= load.duration as f64 / 1e9,
            in_flight_mean: tally.in_flight_area as f64 / 1e9 / window_s.max(f64::MIN_POSITIVE),
            send_lag_p50_us: quantile_us(&tally.send_lag, 0.5),
            send_lag_p99_us: quantile_us(&tally.send_lag, 0.99),
            send_lag_max_us: max_us(&tally.send_lag),
            cpu_user_s: cpu.user_s,
            cpu_system_s: cpu.system_s,
            cpu_busiest_thread: tally.busiest,
        }
    }
}
