//! The load of a run: targets, threads, pace, phases and time limits.

use std::sync::Arc;

use super::log::Log;
use super::picks::Choice;
use super::rates::Rates;
use super::slices::Slices;
use crate::spec::{AccountFiles, Pace, Think};

/// The load of a run. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Load {
    /// The targets' shares; at least one.
    pub targets: Vec<Share>,
    /// The rule by which each target's next request is chosen.
    pub choices: Vec<Choice>,
    /// Worker threads.
    pub threads: usize,
    /// Thread *i* runs on `cpus[i % len]`; anywhere if empty.
    pub cpus: Vec<usize>,
    /// The rule for when requests are sent.
    pub pace: Pace,
    /// The rate over time, if it changes; the pace has its mean in the window.
    pub rates: Option<Arc<Rates>>,
    /// The log whose times an open loop keeps instead of a rate.
    pub log: Option<Log>,
    /// The pause of a closed loop between an answer and the connection's next request.
    pub think: Option<Think>,
    /// The slices in which targets take turns; all are loaded at once if absent.
    pub slices: Option<Slices>,
    /// The CPU time of each target's groups, read in slices.
    pub accounts: Vec<AccountFiles>,
    /// Requests of the window after which it ends, over all threads.
    pub requests: Option<u64>,
    /// Requests on a connection before it is closed and another opened.
    pub requests_per_connection: Option<u64>,
    /// Load before the window.
    pub warmup: u64,
    /// The window.
    pub duration: u64,
    /// Load after the window.
    pub cooldown: u64,
    /// The time limits.
    pub timeouts: Timeouts,
    /// Connections opened per second; all at once if absent.
    pub ramp_per_s: Option<f64>,
    /// True if the times of each answer are kept.
    pub keeps_times: bool,
    /// Seed of all that is random.
    pub seed: u64,
}

/// One target's part of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Its connections over all threads; at least one.
    pub connections: usize,
    /// Its part of an open loop's rate, all of which add up to 1 (in slices each has all of it);
    /// none if its connections are kept busy beside it, as in a closed loop.
    pub rate: Option<f64>,
}

/// A thread's place among those that have connections to a target, and their number; none of a
/// thread that has none.
pub type Place = Option<(usize, usize)>;

/// Time limits, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Until a connection can be used, its handshakes included.
    pub connect: u64,
    /// Until an answer begins, from the actual send.
    pub ttfb: u64,
    /// Until an answer is whole, from the actual send; and the drain.
    pub answer: u64,
    /// Without any answer, until the rest of a fixed number of requests is given up.
    pub silence: u64,
}

impl Load {
    /// Connections over all targets and threads.
    pub fn connections(&self) -> usize {
        self.targets.iter().map(|target| target.connections).sum()
    }

    /// The mean of a rate that changes, in a window of this length, which may have been cut short.
    pub fn mean_rate(&self, window_s: f64) -> Option<f64> {
        let start = self.warmup as f64 / 1e9;
        let rates = self.rates.as_ref().filter(|_| window_s > 0.0)?;
        Some((rates.sends_by(start + window_s) - rates.sends_by(start)) / window_s)
    }

    /// The target of each connection, in the order in which they are opened: at any time as near to
    /// the targets' shares as whole numbers can be.
    pub fn order(&self) -> Vec<usize> {
        let total = self.connections() as f64;
        let mut opened = vec![0usize; self.targets.len()];
        (1..=self.connections())
            .map(|number| {
                let lack = |target: usize| {
                    let due = number as f64 * self.targets[target].connections as f64 / total;
                    due - opened[target] as f64
                };
                let neediest = (0..opened.len()).max_by(|a, b| lack(*a).total_cmp(&lack(*b)));
                let neediest = neediest.unwrap_or(0);
                opened[neediest] += 1;
                neediest
            })
            .collect()
    }

    /// The places of a thread, by target.
    pub fn places(&self, thread: usize) -> Vec<Place> {
        let order = self.order();
        let has = |thread: usize, target: usize| {
            let mut own = order.iter().skip(thread).step_by(self.threads);
            own.any(|each| *each == target)
        };
        let place = |target: usize| {
            let all: Vec<usize> = (0..self.threads)
                .filter(|each| has(*each, target))
                .collect();
            let place = all.iter().position(|each| *each == thread)?;
            Some((place, all.len()))
        };
        (0..self.targets.len()).map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    #[test]
    fn connections_are_opened_in_proportion() {
        let mut load =
            crate::plan::load(&Spec::from_json(r#"{"url": "u"}"#).unwrap(), vec![]).unwrap();
        let share = |connections| Share {
            connections,
            rate: Some(0.5),
        };
        load.targets = vec![share(6), share(3), share(1)];
        let order = load.order();
        for (target, share) in load.targets.iter().enumerate() {
            let count = |end: usize| order[..end].iter().filter(|each| **each == target).count();
            assert_eq!(count(10), share.connections);
            for end in 1..10 {
                let due = end as f64 * share.connections as f64 / 10.0;
                assert!((count(end) as f64 - due).abs() <= 1.0, "{order:?}");
            }
        }
    }
}
