//! The rounds of a duel, as the result has them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::Outcome;
use crate::engine::rounds::{Round, ordinary};
use crate::engine::slices::Slices;
use crate::engine::tally::Tally;

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
    /// Of the ordinary ones among them, if it is known which they are.
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
        let mut sum = Round::default();
        rounds.for_each(|round| sum.add(round));
        let us = |(role, ns): (String, u64)| (role, ns as f64 / 1e3);
        PartReport {
            requests: sum.requests,
            cpu_us: sum.cpu.into_iter().map(us).collect(),
        }
    }
}

impl RoundReport {
    /// The parts of all targets, in their order.
    pub fn all(targets: &[Tally]) -> Vec<Self> {
        let rounds: Vec<_> = targets.iter().map(|tally| &tally.rounds[..]).collect();
        let ordinary = ordinary(&rounds);
        let part = |own: &&[Round]| RoundReport {
            all: PartReport::of(own.iter()),
            ordinary: ordinary.as_ref().map(|ordinary| {
                let own = own.iter().zip(ordinary);
                PartReport::of(own.filter(|(_, is)| **is).map(|(round, _)| round))
            }),
        };
        rounds.iter().map(part).collect()
    }
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
