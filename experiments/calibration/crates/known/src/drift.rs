//! A machine that gets slower and faster: an extra cost that follows the clock, alike for all servers on it.

use std::f64::consts::TAU;

/// A sine between 0 and `percent` of the server's own CPU time.
#[derive(Clone, Copy, Debug)]
pub struct Drift {
    /// Its largest value.
    pub percent: f64,
    /// Seconds from one peak to the next.
    pub period_s: f64,
}

impl Drift {
    /// Return the percentage at a moment of the machine's monotonic clock, in seconds.
    pub fn at(&self, seconds: f64) -> f64 {
        self.percent * (0.5 - 0.5 * (TAU * seconds / self.period_s).cos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_sine_from_nothing_to_its_peak() {
        let drift = Drift {
            percent: 20.0,
            period_s: 60.0,
        };
        assert!(drift.at(0.0).abs() < 1e-9);
        assert!((drift.at(30.0) - 20.0).abs() < 1e-9);
        assert!((drift.at(45.0) - 10.0).abs() < 1e-9);
        assert!(drift.at(120.0).abs() < 1e-9);
    }
}
