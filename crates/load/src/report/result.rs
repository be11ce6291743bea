//! The result of a run, as docs/FORMAT.md describes it.

use std::collections::BTreeMap;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::Serialize;

use crate::engine::tally::{Counts, Failures};
use crate::engine::{Load, Outcome};
use crate::protocol::Failure;
use crate::spec::{Pace, SCHEMA};

/// The last line of the instrument protocol.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename = "result")]
pub struct Result {
    schema: u32,
    instrument: &'static str,
    protocol: String,
    /// The window's length.
    pub window_s: f64,
    /// What was measured.
    pub outcomes: BTreeMap<&'static str, Option<f64>>,
    /// What the load was.
    pub load: LoadReport,
    /// The window's failures.
    pub errors: Errors,
    /// The window's answers by status.
    pub statuses: BTreeMap<usize, u64>,
    /// The whole run's answers and failures.
    pub total: Total,
    histograms: BTreeMap<&'static str, String>,
}

/// What the load was, and whether the generator kept up.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct LoadReport {
    #[serde(rename = "loop")]
    pub pace: &'static str,
    pub arrivals: Option<&'static str>,
    pub connections: usize,
    pub threads: usize,
    pub offered: u64,
    pub completed: u64,
    pub unfinished: u64,
    pub in_flight_mean: f64,
    pub send_lag_p50_us: Option<f64>,
    pub send_lag_p99_us: Option<f64>,
    pub send_lag_max_us: Option<f64>,
    pub cpu_user_s: f64,
    pub cpu_system_s: f64,
    pub cpu_busiest_thread: f64,
}

/// Failures by kind.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Errors {
    pub connect: u64,
    pub read: u64,
    pub write: u64,
    pub status: u64,
    pub body: u64,
    pub timeout: u64,
}

/// What a variant's own counters must agree with.
#[derive(Debug, Serialize)]
pub struct Total {
    /// Answers from the first to the last.
    pub requests: u64,
    /// The same by status.
    pub statuses: BTreeMap<usize, u64>,
    /// Failures from the first to the last.
    pub errors: Errors,
}

impl From<&Failures> for Errors {
    fn from(failures: &Failures) -> Self {
        Errors {
            connect: failures.of(Failure::Connect),
            read: failures.of(Failure::Read),
            write: failures.of(Failure::Write),
            status: failures.of(Failure::Status),
            body: failures.of(Failure::Body),
            timeout: failures.of(Failure::Timeout),
        }
    }
}

impl From<&Counts> for Total {
    fn from(counts: &Counts) -> Self {
        Total {
            requests: counts.statuses().map(|(_, count)| count).sum(),
            statuses: counts.statuses().collect(),
            errors: (&counts.failures).into(),
        }
    }
}

impl Errors {
    /// All kinds together.
    pub fn sum(&self) -> u64 {
        self.connect + self.read + self.write + self.status + self.body + self.timeout
    }
}

impl Result {
    /// The result of `outcome`, which `load` over `protocol` came to.
    pub fn new(protocol: &str, load: &Load, outcome: &Outcome) -> Self {
        let Outcome {
            window_s,
            tally,
            cpu,
        } = outcome;
        let completed = tally.latency.len();
        let per_second = |amount: u64| amount as f64 / window_s.max(f64::MIN_POSITIVE);
        let mut outcomes = BTreeMap::from([
            ("requests", Some(completed as f64)),
            ("requests_per_second", Some(per_second(completed))),
            ("bytes_per_second", Some(per_second(tally.bytes))),
            ("latency_max_us", max_us(&tally.latency)),
            ("latency_mean_us", mean_us(&tally.latency)),
            ("service_mean_us", mean_us(&tally.service)),
        ]);
        for (name, q) in [
            ("latency_p50_us", 0.5),
            ("latency_p90_us", 0.9),
            ("latency_p99_us", 0.99),
            ("latency_p999_us", 0.999),
            ("latency_p9999_us", 0.9999),
        ] {
            outcomes.insert(name, quantile_us(&tally.latency, q));
        }
        outcomes.insert("service_p50_us", quantile_us(&tally.service, 0.5));
        outcomes.insert("service_p99_us", quantile_us(&tally.service, 0.99));
        let (pace, arrivals) = match load.pace {
            Pace::Closed => ("closed", None),
            Pace::Open { arrivals, .. } => ("open", Some(arrivals.name())),
        };
        Result {
            schema: SCHEMA,
            instrument: concat!("tare-load ", env!("CARGO_PKG_VERSION")),
            protocol: protocol.into(),
            window_s: *window_s,
            outcomes,
            load: LoadReport {
                pace,
                arrivals,
                connections: load.connections,
                threads: load.threads,
                offered: tally.offered,
                completed,
                unfinished: tally.unfinished,
                in_flight_mean: tally.in_flight_area as f64 / 1e9 / window_s.max(f64::MIN_POSITIVE),
                send_lag_p50_us: quantile_us(&tally.send_lag, 0.5),
                send_lag_p99_us: quantile_us(&tally.send_lag, 0.99),
                send_lag_max_us: max_us(&tally.send_lag),
                cpu_user_s: cpu.user_s,
                cpu_system_s: cpu.system_s,
                cpu_busiest_thread: tally.busiest,
            },
            errors: (&tally.window.failures).into(),
            statuses: tally.window.statuses().collect(),
            total: (&tally.total).into(),
            histograms: BTreeMap::from([
                ("latency", encode(&tally.latency)),
                ("service", encode(&tally.service)),
                ("send_lag", encode(&tally.send_lag)),
            ]),
        }
    }
}

/// The quantile `q` in microseconds, if the sample names it: with 95 % confidence, some of its
/// values must lie above.
pub fn quantile_us(histogram: &Histogram<u64>, q: f64) -> Option<f64> {
    let needed = (0.05f64.ln() / q.ln()).ceil();
    let named = histogram.len() as f64 >= needed;
    named.then(|| histogram.value_at_quantile(q) as f64 / 1e3)
}

fn mean_us(histogram: &Histogram<u64>) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.mean() / 1e3)
}

fn max_us(histogram: &Histogram<u64>) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.max() as f64 / 1e3)
}

fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    let written = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
    written.expect("memory takes any histogram");
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tally::histogram;

    #[test]
    fn a_quantile_needs_a_sample_that_names_it() {
        for (q, needed) in [(0.99, 299), (0.999, 2995), (0.9999, 29956)] {
            let mut sample = histogram();
            sample.record_n(1000, needed - 1).unwrap();
            assert_eq!(quantile_us(&sample, q), None);
            sample.record(1000).unwrap();
            assert_eq!(quantile_us(&sample, q), Some(1.0));
        }
        assert_eq!(quantile_us(&histogram(), 0.5), None);
    }

    #[test]
    fn histograms_have_the_known_beginning() {
        assert!(encode(&histogram()).starts_with("HISTFAAA"));
    }
}
