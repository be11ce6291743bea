//! The outcomes of a tally: its rates, and each distribution's mean, maximum and quantiles.

use std::collections::BTreeMap;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use super::shape::Deviation;
use crate::engine::tally::{SliceCounts, Tally};

/// Figures by their names; none where the sample is too small for one.
pub type Outcomes = BTreeMap<String, Option<f64>>;

/// The quantiles reported for every distribution.
pub const QUANTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p999", 0.999),
    ("p9999", 0.9999),
];

/// All distributions by their names.
fn distributions(tally: &Tally) -> [(&'static str, &Histogram<u64>); 6] {
    [
        ("latency", &tally.latency),
        ("service", &tally.service),
        ("ttfb", &tally.ttfb),
        ("connect", &tally.connect),
        ("handshake", &tally.handshake),
        ("send_lag", &tally.send_lag),
    ]
}

/// The standard deviations of the distributions that have values.
pub fn deviations(tally: &Tally) -> BTreeMap<&'static str, Deviation> {
    let each = distributions(tally).into_iter();
    each.filter_map(|(name, histogram)| Some((name, Deviation::of(histogram)?)))
        .collect()
}

/// The distributions as the formats have them.
pub fn encoded(tally: &Tally) -> BTreeMap<&'static str, String> {
    let each = distributions(tally).into_iter();
    each.map(|(name, histogram)| (name, encode(histogram)))
        .collect()
}

/// The outcomes of a tally whose window had this length.
pub fn outcomes(tally: &Tally, window_s: f64) -> Outcomes {
    let completed = tally.correct as f64;
    let rate = match tally.slices {
        SliceCounts { all: 0, .. } => completed / window_s,
        SliceCounts { answers, time, .. } => answers as f64 * 1e9 / time.max(1) as f64,
    };
    let bytes = tally.bytes as f64 / completed.max(1.0);
    let mut outcomes = Outcomes::from([
        ("requests".into(), Some(completed)),
        ("requests_per_second".into(), Some(rate)),
        ("bytes_per_second".into(), Some(bytes * rate)),
    ]);
    if let (hits, misses) = tally.cached
        && hits + misses > 0
    {
        let ratio = hits as f64 / (hits + misses) as f64;
        outcomes.insert("hit_ratio".into(), Some(ratio));
    }
    for (name, histogram) in distributions(tally) {
        let mut add = |what: &str, value| outcomes.insert(format!("{name}_{what}_us"), value);
        add("mean", mean_us(histogram));
        add("max", max_us(histogram));
        for (quantile, q) in QUANTILES {
            add(quantile, quantile_us(histogram, q));
        }
    }
    outcomes
}

/// The quantile `q` in microseconds, if the sample is large enough: with 95 % confidence, some of
/// its values must lie above.
pub fn quantile_us(histogram: &Histogram<u64>, q: f64) -> Option<f64> {
    let needed = (0.05f64.ln() / q.ln()).ceil();
    let named = histogram.len() as f64 >= needed;
    named.then(|| histogram.value_at_quantile(q) as f64 / 1e3)
}

fn mean_us(histogram: &Histogram<u64>) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.mean() / 1e3)
}

/// The maximum in microseconds.
pub fn max_us(histogram: &Histogram<u64>) -> Option<f64> {
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
