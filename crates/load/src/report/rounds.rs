//! The rounds of a duel, as the result has them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::outcomes::quantile_us;
use crate::engine::Outcome;
use crate::engine::batches::standard_error;
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
    /// Of two targets.
    pub standard_errors: Option<StandardErrors>,
}

/// The spread of the logarithm of two targets' ratio within the duel, by outcome.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct StandardErrors {
    /// CPU time per request, by role.
    pub cpu_us: BTreeMap<String, f64>,
    /// Likewise in ordinary rounds.
    pub ordinary_cpu_us: BTreeMap<String, f64>,
    pub latency_p50_us: Option<f64>,
}

impl StandardErrors {
    fn new(targets: &[Tally]) -> Option<Self> {
        let rounds = of(targets);
        let [first, second] = rounds[..] else {
            return None;
        };
        let all = [first, second].map(|own| own.iter().collect::<Vec<_>>());
        let is = ordinary_in_cpu(&rounds);
        let chosen = |is| [first, second].map(|own| among(own, is).collect::<Vec<_>>());
        let ordinary = is.as_deref().map(chosen);
        Some(StandardErrors {
            cpu_us: cpu_errors(&all),
            ordinary_cpu_us: ordinary.as_ref().map(cpu_errors).unwrap_or_default(),
            latency_p50_us: standard_error(all.each_ref().map(|own| &own[..]), median),
        })
    }
}

/// The standard errors of CPU time per request, by role.
fn cpu_errors(targets: &[Vec<&Round>; 2]) -> BTreeMap<String, f64> {
    let first = targets[0].first();
    let roles = first.into_iter().flat_map(|round| round.cpu.keys());
    let error = |role: &String| {
        let per_request = |rounds: &[&Round]| {
            let ns = rounds.iter().filter_map(|round| round.cpu.get(role));
            let requests: u64 = rounds.iter().map(|round| round.requests).sum();
            (requests > 0).then(|| ns.sum::<u64>() as f64 / requests as f64)
        };
        let found = standard_error(targets.each_ref().map(|own| &own[..]), per_request)?;
        Some((role.clone(), found))
    };
    roles.filter_map(error).collect()
}

fn median(rounds: &[&Round]) -> Option<f64> {
    let each = rounds.iter().flat_map(|round| &round.latencies);
    let mut latencies: Vec<f32> = each.copied().collect();
    let middle = latencies.len() / 2;
    if latencies.is_empty() {
        return None;
    }
    let (_, found, _) = latencies.select_nth_unstable_by(middle, f32::total_cmp);
    Some(f64::from(*found))
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
            standard_errors: StandardErrors::new(&outcome.targets),
        }
    }
}
