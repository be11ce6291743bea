//! The fidelity of a replay to its log.

use std::fmt;

use serde::Serialize;

use crate::engine::log::Replayed;
use crate::replay::LogFormat;

/// Difference of two gaps that does not count, in nanoseconds: logs are seldom more exact.
const TOLERANCE: u64 = 1_000_000;

/// A replay, and its distances from the log. They are those of Kolmogorov and Smirnov: the largest
/// difference of the shares of values up to some bound; 0 for equal distributions.
#[derive(Debug, Serialize)]
pub struct ReplayReport {
    /// The log's format.
    pub format: LogFormat,
    /// Requests in the log.
    pub entries: usize,
    /// Its lines or entries that are none.
    pub skipped: usize,
    /// The log's length at the speed of the run, in seconds.
    pub length_s: f64,
    /// Requests that were sent in the window.
    pub sent: usize,
    /// The distance of the gaps between sends from those of the log; a millisecond does not count.
    pub gaps_ks: Option<f64>,
    /// The distance of the bodies' sizes from those of the log, for correct answers.
    pub sizes_ks: Option<f64>,
}

impl ReplayReport {
    /// Compare the `replayed` requests of a log with it.
    pub fn new(
        format: LogFormat,
        (entries, skipped): (usize, usize),
        length_s: f64,
        replayed: &Replayed,
    ) -> Self {
        let (intended, sent) = replayed.sends.iter().copied().unzip();
        let (logged, came) = replayed.sizes.iter().copied().unzip();
        ReplayReport {
            format,
            entries,
            skipped,
            length_s,
            sent: replayed.sends.len(),
            gaps_ks: distance(gaps(intended), gaps(sent), TOLERANCE),
            sizes_ks: distance(logged, came, 0),
        }
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |distance: Option<f64>| distance.map_or("-".into(), |ks| format!("{ks:.4}"));
        match (self.sent, self.entries) {
            (sent, entries) if sent <= entries => {
                write!(f, "{sent} of the log's {entries} requests")
            }
            (sent, entries) => write!(f, "{sent} requests, the log's {entries} over and over"),
        }?;
        write!(
            f,
            "; distance (KS) of gaps {}, of sizes {}",
            known(self.gaps_ks),
            known(self.sizes_ks),
        )?;
        match (self.skipped, self.format) {
            (0, _) => Ok(()),
            (1, LogFormat::Har) => write!(f, "; 1 entry is no request"),
            (skipped, LogFormat::Har) => write!(f, "; {skipped} entries are no requests"),
            (1, _) => write!(f, "; 1 line is no request"),
            (skipped, _) => write!(f, "; {skipped} lines are no requests"),
        }
    }
}

fn gaps(mut times: Vec<u64>) -> Vec<u64> {
    times.sort_unstable();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// The distance of two samples, where values that differ by at most `tolerance` count as equal.
fn distance(mut one: Vec<u64>, mut other: Vec<u64>, tolerance: u64) -> Option<f64> {
    if one.is_empty() || other.is_empty() {
        return None;
    }
    one.sort_unstable();
    other.sort_unstable();
    Some(excess(&one, &other, tolerance).max(excess(&other, &one, tolerance)))
}

/// The largest amount by which the share of `one` up to a value exceeds that of `other` up to the
/// value and `tolerance`.
fn excess(one: &[u64], other: &[u64], tolerance: u64) -> f64 {
    let share = |sample: &[u64], value: u64| {
        sample.partition_point(|each| *each <= value) as f64 / sample.len() as f64
    };
    let at = |value: &u64| share(one, *value) - share(other, value.saturating_add(tolerance));
    one.iter().map(at).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_that_of_the_distributions() {
        let ks = |one: &[u64], other: &[u64], tolerance| {
            let forth = distance(one.into(), other.into(), tolerance);
            assert_eq!(forth, distance(other.into(), one.into(), tolerance));
            forth.unwrap()
        };
        assert_eq!(ks(&[3, 1, 2], &[2, 1, 3], 0), 0.0);
        assert_eq!(ks(&[1, 2, 3, 4], &[1, 2, 3, 9], 0), 0.25);
        assert_eq!(ks(&[1, 2], &[3, 4, 5], 0), 1.0);
        // The largest difference is at 4: one half of the first, all of the second.
        assert_eq!(ks(&[1, 4, 5, 9], &[0, 2, 3, 4], 0), 0.5);
        assert_eq!(ks(&[10, 20, 30], &[11, 19, 30], 1), 0.0);
        assert_eq!(ks(&[10, 20, 30], &[12, 19, 30], 1), 1.0 / 3.0);
        assert_eq!(distance(vec![], vec![1], 0), None);
    }

    #[test]
    fn what_was_left_out_is_counted_in_the_words_of_its_format() {
        let after = |format, skipped| {
            let report = ReplayReport::new(format, (5, skipped), 1.0, &Replayed::default());
            report.to_string()
        };
        assert!(!after(LogFormat::Json, 0).contains("no request"));
        assert!(after(LogFormat::Json, 1).ends_with("; 1 line is no request"));
        assert!(after(LogFormat::Combined, 2).ends_with("; 2 lines are no requests"));
        assert!(after(LogFormat::Har, 1).ends_with("; 1 entry is no request"));
        assert!(after(LogFormat::Har, 3).ends_with("; 3 entries are no requests"));
    }

    #[test]
    fn a_log_that_begins_again_has_not_more_requests_than_it_has() {
        let after = |sent: u64| {
            let replayed = Replayed {
                sends: (0..sent).map(|at| (at, at)).collect(),
                ..Replayed::default()
            };
            ReplayReport::new(LogFormat::Json, (3, 0), 1.0, &replayed).to_string()
        };
        assert!(after(3).starts_with("3 of the log's 3 requests; distance"));
        assert!(after(7).starts_with("7 requests, the log's 3 over and over; distance"));
    }

    #[test]
    fn gaps_are_between_neighbours_in_time() {
        assert_eq!(gaps(vec![30, 10, 15]), [5, 15]);
        assert!(gaps(vec![7]).is_empty());
    }
}
