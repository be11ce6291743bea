//! The shape of a distribution: its standard deviation, and a histogram of a few rows.

use hdrhistogram::Histogram;

/// Rows of a histogram below the last.
const ROWS: u64 = 10;

/// The standard deviation of a sample, and the share of its values that lies around the mean, as wrk
/// prints them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// The standard deviation in microseconds.
    pub us: f64,
    /// The share of the values within one standard deviation of the mean.
    pub within: f64,
}

impl Deviation {
    /// The deviation of a sample of nanoseconds; none if it is empty.
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        if histogram.is_empty() {
            return None;
        }
        let (mean, deviation) = (histogram.mean(), histogram.stdev());
        let near = histogram.iter_recorded().filter(|step| {
            let value = histogram.median_equivalent(step.value_iterated_to()) as f64;
            (value - mean).abs() <= deviation
        });
        let near: u64 = near.map(|step| step.count_since_last_iteration()).sum();
        Some(Deviation {
            us: deviation / 1e3,
            within: near as f64 / histogram.len() as f64,
        })
    }
}

/// One row of a histogram: values above `above_us`, up to `to_us`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Row {
    pub above_us: f64,
    pub to_us: f64,
    pub count: u64,
}

/// Rows of equal width up to the 99th percentile, and one for all values above it.
pub fn rows(histogram: &Histogram<u64>) -> Vec<Row> {
    if histogram.is_empty() {
        return Vec::new();
    }
    // Values are rounded down to the resolution, so that the lowest lies in the first row.
    let low = histogram
        .lowest_equivalent(histogram.min())
        .saturating_sub(1);
    let high = histogram.value_at_quantile(0.99).max(low + 1);
    let edge = |row: u64| low + (high - low) * row / ROWS;
    let mut edges: Vec<u64> = (0..=ROWS).map(edge).collect();
    edges.push(histogram.max());
    edges.dedup();
    let mut rows: Vec<Row> = edges
        .windows(2)
        .filter(|pair| pair[0] < pair[1])
        .map(|pair| Row {
            above_us: pair[0] as f64 / 1e3,
            to_us: pair[1] as f64 / 1e3,
            count: 0,
        })
        .collect();
    for step in histogram.iter_recorded() {
        let value = step.value_iterated_to() as f64 / 1e3;
        let place = rows.iter().position(|row| value <= row.to_us);
        let place = place.unwrap_or(rows.len() - 1);
        rows[place].count += step.count_since_last_iteration();
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tally::histogram;

    fn sample(values: &[(u64, u64)]) -> Histogram<u64> {
        let mut sample = histogram();
        for (value, count) in values {
            sample.record_n(*value, *count).unwrap();
        }
        sample
    }

    #[test]
    fn a_deviation_is_that_of_the_sample() {
        assert_eq!(Deviation::of(&histogram()), None);
        let found = Deviation::of(&sample(&[(1000, 1), (1200, 2), (1400, 1)])).unwrap();
        assert!((found.us - 0.02f64.sqrt()).abs() < 1e-3, "{found:?}");
        assert_eq!(found.within, 0.5);
        let same = Deviation::of(&sample(&[(1000, 5)])).unwrap();
        assert!(same.us < 1e-3 && same.within == 1.0, "{same:?}");
    }

    #[test]
    fn every_value_is_in_one_row() {
        assert_eq!(rows(&histogram()), []);
        for values in [
            &[(1, 1)][..],
            &[(1000, 7)],
            &[(1000, 1000), (50_000_000, 2)],
            &[(900, 3), (901, 4), (1_000_000, 993), (3_000_000_000, 5)],
        ] {
            let sample = sample(values);
            let rows = rows(&sample);
            let count: u64 = rows.iter().map(|row| row.count).sum();
            assert_eq!(count, sample.len(), "{rows:?}");
            assert!(rows.len() <= 11 && rows[0].count > 0, "{rows:?}");
            assert!(rows.iter().all(|row| row.above_us < row.to_us), "{rows:?}");
        }
    }

    #[test]
    fn the_last_row_has_what_lies_above_the_99th_percentile() {
        let many: Vec<(u64, u64)> = (1..=1000).map(|value| (value * 1000, 1)).collect();
        let rows = rows(&sample(&many));
        assert_eq!(rows.len(), 11);
        assert!((9..=10).contains(&rows[10].count), "{rows:?}");
        let middle = rows[1..10].iter().map(|row| row.count);
        assert!(
            middle.clone().max() <= middle.min().map(|least| least + 3),
            "{rows:?}"
        );
    }
}
