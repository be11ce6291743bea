//! The rounds of a duel, as the result has them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::Outcome;
use crate::engine::slices::Slices;
use crate::engine::tally::Tally;

/// A target's part of the rounds that count.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct RoundReport {
    /// Correct answers.
    pub requests: u64,
    /// CPU time of its groups, by role.
    pub cpu_us: BTreeMap<String, f64>,
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

impl RoundReport {
    /// The part of the target with this tally.
    pub fn new(tally: &Tally) -> Self {
        let us = |(role, ns): (&String, &u64)| (role.clone(), *ns as f64 / 1e3);
        RoundReport {
            requests: tally.slices.requests,
            cpu_us: tally.cpu.iter().map(us).collect(),
        }
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
