//! The rounds of a duel, as the result has them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::outcomes::quantile_us;
use crate::engine::Outcome;
use crate::engine::rounds::{Round, ordinary_in_cpu, ordinary_in_latency};
use crate::engine::slices::Slices;
use crate::engine::tally::{Tally, histogram};

/// A target's part of some rounds that count.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct PartReport {
    /// Correct answers.
    pub requests: u64,
    /// CPU time of its groups, by role.
    pub cpu_us: BTreeMap<String, f64>,
}

/// A target's part of the rounds that count.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct RoundReport {
    #[serde(flatten)]
    pub all: PartReport,
    /// Of those among them that are ordinary in CPU time, if it is known which they are.
    pub ordinary: Option<PartReport>,
}

/// The slices of a duel, in the window.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct SliceReport {
    pub length_ms: f64,
    pub lead_in_ms: f64,
    /// Rounds of one slice for each target.
    pub rounds: u64,
    /// Rounds in which the generator lost no time.
    pub kept: u64,
    /// Share of the window in which a slice had the load, and not a drain.
    pub share: f64,
}

impl PartReport {
    fn of<'a>(rounds: impl Iterator<Item = &'a Round>) -> Self {
        let mut sum = PartReport {
            requests: 0,
            cpu_us: BTreeMap::new(),
        };
        for round in rounds {
            sum.requests += round.requests;
            for (role, ns) in &round.cpu {
                *sum.cpu_us.entry(role.clone()).or_default() += *ns as f64 / 1e3;
            }
        }
        sum
    }
}

impl RoundReport {
    /// The parts of all targets, in their order.
    pub fn all(targets: &[Tally]) -> Vec<Self> {
        let rounds = of(targets);
        let ordinary = ordinary_in_cpu(&rounds);
        let part = |own: &&[Round]| RoundReport {
            all: PartReport::of(own.iter()),
            ordinary: ordinary.as_ref().map(|is| PartReport::of(among(own, is))),
        };
        rounds.iter().map(part).collect()
    }
}

/// The 99th percentile of each target's latency in those rounds that are ordinary in latency, in
/// microseconds; none where they are unknown or hold too few answers.
pub fn ordinary_p99_us(targets: &[Tally]) -> Vec<Option<f64>> {
    let rounds = of(targets);
    let ordinary = ordinary_in_latency(&rounds);
    let p99 = |own: &&[Round]| {
        let mut latencies = histogram();
        for round in among(own, ordinary.as_ref()?) {
            let each = round.latencies.iter();
            each.for_each(|latency| latencies.saturating_record(*latency as u64));
        }
        quantile_us(&latencies, 0.99)
    };
    rounds.iter().map(p99).collect()
}

/// The share of its CPU time that a target used in the slices of others; none if none is known.
pub fn elsewhere(target: &Tally) -> Option<f64> {
    let rounds = target.rounds.iter();
    let used: u64 = rounds.clone().flat_map(|round| round.cpu.values()).sum();
    let elsewhere: u64 = rounds.map(|round| round.elsewhere).sum();
    (used > 0).then(|| elsewhere as f64 / used as f64)
}

fn of(targets: &[Tally]) -> Vec<&[Round]> {
    targets.iter().map(|tally| &tally.rounds[..]).collect()
}

fn among<'a>(rounds: &'a [Round], chosen: &'a [bool]) -> impl Iterator<Item = &'a Round> {
    let pairs = rounds.iter().zip(chosen);
    pairs.filter(|(_, chosen)| **chosen).map(|(round, _)| round)
}

impl SliceReport {
    /// The slices of a run with this outcome.
    pub fn new(slices: Slices, outcome: &Outcome) -> Self {
        let length_s = slices.length as f64 / 1e9;
        SliceReport {
            length_ms: slices.length as f64 / 1e6,
            lead_in_ms: slices.lead_in as f64 / 1e6,
            rounds: outcome.targets[0].slices.all,
            kept: outcome.targets[0].slices.kept,
            share: outcome.tally.slices.all as f64 * length_s
                / outcome.window_s.max(f64::MIN_POSITIVE),
        }
    }
}
