//! The rates of single threads, and of the opening of their connections.

use std::fmt::{self, Display};

use serde::Serialize;

use crate::time::format_us;

/// The correct answers of single threads in single seconds of the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ThreadSeconds {
    /// Threads times seconds.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The most answers of a thread in a second.
    pub max: u64,
    /// The share of them that lies within one deviation of the mean.
    pub within: f64,
}

impl ThreadSeconds {
    /// Of these counts of answers; none of fewer than two, which have no deviation, and of none at all.
    pub fn of(counts: &[u64]) -> Option<Self> {
        let count = counts.len();
        let max = *counts.iter().max().filter(|&&max| count > 1 && max > 0)?;
        let mean = counts.iter().sum::<u64>() as f64 / count as f64;
        let apart = |each: &u64| *each as f64 - mean;
        let squares: f64 = counts.iter().map(|each| apart(each).powi(2)).sum();
        let deviation = (squares / (count - 1) as f64).sqrt();
        let near = counts.iter().filter(|each| apart(each).abs() <= deviation);
        Some(ThreadSeconds {
            count,
            mean,
            deviation,
            max,
            within: near.count() as f64 / count as f64,
        })
    }
}

impl Display for ThreadSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} req/s each, deviation {:.1} ({:.0} % of seconds within it), at most {}",
            self.mean,
            self.deviation,
            self.within * 100.0,
            self.max
        )
    }
}

/// Connections that are opened one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ramp {
    /// Connections opened per second over all threads.
    pub per_second: f64,
    /// The time from one opening of a thread to its next.
    pub thread_gap_us: f64,
}

impl Ramp {
    /// This many connections per second, opened by the threads in turn.
    pub fn new(per_second: f64, threads: usize) -> Self {
        Ramp {
            per_second,
            thread_gap_us: threads as f64 * 1e6 / per_second,
        }
    }
}

impl Display for Ramp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = format_us(self.thread_gap_us);
        let rate = self.per_second;
        write!(
            f,
            "{rate} connections a second; each thread opens one every {gap}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_takes_two_seconds() {
        assert_eq!(ThreadSeconds::of(&[]), None);
        assert_eq!(ThreadSeconds::of(&[7]), None);
        assert_eq!(ThreadSeconds::of(&[0, 0]), None);
        let found = ThreadSeconds::of(&[2, 4, 4, 4, 5, 5, 7, 9]).expect("enough");
        assert_eq!((found.count, found.mean, found.max), (8, 5.0, 9));
        assert!((found.deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(found.within, 6.0 / 8.0);
    }

    #[test]
    fn each_thread_opens_its_share() {
        let ramp = Ramp::new(30_700.0, 50);
        assert_eq!((ramp.thread_gap_us * 1e3) as u64, 1_628_664);
    }
}
