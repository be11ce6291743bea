//! The figures of a second, as all formats have them.

use serde::Serialize;

use crate::engine::Phase;
use crate::engine::progress::Second;

/// One second of a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    /// The second's end, in seconds since the start.
    pub t_s: f64,
    /// The phase in which most of it lies.
    pub phase: &'static str,
    /// Its correct answers.
    pub rate: u64,
    /// Requests in flight at its end.
    pub in_flight: u64,
    /// Errors from the start to its end.
    pub errors: u64,
    /// The median of its latencies, in microseconds.
    pub p50_us: Option<f64>,
    /// Their 99th percentile.
    pub p99_us: Option<f64>,
}

impl Figures {
    /// The figures of `second`, most of which lies in `phase`.
    pub fn of(second: &Second, phase: Phase) -> Self {
        let latency = &second.latency;
        let quantile = |q| (!latency.is_empty()).then(|| latency.value_at_quantile(q) as f64 / 1e3);
        Figures {
            t_s: second.end() as f64 / 1e9,
            phase: phase.name(),
            rate: latency.len(),
            in_flight: second.in_flight,
            errors: second.failures.sum(),
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
        }
    }
}
