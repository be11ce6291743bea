//! A rate that changes over time, and the times at which it makes its sends.

/// A rate in pieces, each of which changes linearly; the last rate stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates(Vec<Piece>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    /// Its begin, in seconds.
    at: f64,
    /// The rate at its begin, per second.
    rate: f64,
    /// The change of the rate, per second.
    slope: f64,
    /// Sends before it.
    before: f64,
}

impl Rates {
    /// The rate through `points`, each of a time in seconds and a rate, in the order of their times,
    /// the first of which is 0. Two of one time make a step.
    pub fn through(points: &[(f64, f64)]) -> Self {
        let mut pieces = Vec::new();
        let mut before = 0.0;
        for pair in points.windows(2) {
            let ((at, rate), (end, next)) = (pair[0], pair[1]);
            if end > at {
                let slope = (next - rate) / (end - at);
                pieces.push(Piece {
                    at,
                    rate,
                    slope,
                    before,
                });
                before += (rate + next) / 2.0 * (end - at);
            }
        }
        let (at, rate) = points.last().copied().unwrap_or_default();
        pieces.push(Piece {
            at,
            rate,
            slope: 0.0,
            before,
        });
        Rates(pieces)
    }

    /// The time in seconds by which `sends` are due; infinite if they never are.
    pub fn time_of(&self, sends: f64) -> f64 {
        let after = self.0.partition_point(|piece| piece.before <= sends);
        let Piece {
            at,
            rate,
            slope,
            before,
        } = self.0[after.saturating_sub(1)];
        let more = sends - before;
        if more <= 0.0 && rate > 0.0 {
            return at;
        }
        // The root of rate·t + slope·t²/2 = more, in the form that keeps its digits.
        let root = (rate * rate + 2.0 * slope * more).max(0.0).sqrt();
        match rate + root {
            0.0 if more <= 0.0 && slope > 0.0 => at,
            0.0 => f64::INFINITY,
            sum => at + 2.0 * more / sum,
        }
    }

    /// The sends due by `time`, in seconds.
    pub fn sends_by(&self, time: f64) -> f64 {
        let after = self.0.partition_point(|piece| piece.at <= time);
        let piece = self.0[after.saturating_sub(1)];
        let length = time - piece.at;
        piece.before + (piece.rate + piece.slope * length / 2.0) * length
    }

    /// The highest rate, per second.
    pub fn peak(&self) -> f64 {
        // A piece that rises ends where a later one begins, or below.
        let ends = self.0.windows(2).map(|pair| {
            let (piece, next) = (pair[0], pair[1]);
            piece.rate + piece.slope * (next.at - piece.at)
        });
        self.0
            .iter()
            .map(|piece| piece.rate)
            .chain(ends)
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_steady_rate_has_even_sends() {
        let rates = Rates::through(&[(0.0, 50.0)]);
        assert_eq!((rates.time_of(0.0), rates.time_of(100.0)), (0.0, 2.0));
        assert_eq!((rates.sends_by(3.0), rates.peak()), (150.0, 50.0));
    }

    #[test]
    fn a_ramp_has_the_area_below_it() {
        let rates = Rates::through(&[(0.0, 0.0), (10.0, 100.0)]);
        assert_eq!((rates.sends_by(10.0), rates.time_of(500.0)), (500.0, 10.0));
        assert_eq!(rates.time_of(125.0), 5.0);
        assert_eq!((rates.time_of(0.0), rates.time_of(600.0)), (0.0, 11.0));
    }

    #[test]
    fn a_step_and_a_pause_are_kept() {
        let points = [
            (0.0, 10.0),
            (1.0, 10.0),
            (1.0, 0.0),
            (3.0, 0.0),
            (3.0, 20.0),
        ];
        let rates = Rates::through(&points);
        assert_eq!(rates.time_of(9.0), 0.9);
        assert!(rates.time_of(10.5) > 3.0 && rates.time_of(10.5) < 3.1);
        assert_eq!((rates.time_of(30.0), rates.peak()), (4.0, 20.0));
        let ends = Rates::through(&[(0.0, 10.0), (1.0, 0.0)]);
        assert_eq!(
            (ends.time_of(5.1), ends.sends_by(9.0)),
            (f64::INFINITY, 5.0)
        );
        assert_eq!(Rates::through(&[(0.0, 0.0)]).time_of(0.0), f64::INFINITY);
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(4), failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn times_are_those_of_the_sends(
            pieces in prop::collection::vec((0.0..5.0f64, 0.0..1e4f64), 1..9), share in 0.0..0.999f64,
        ) {
            let mut at = 0.0;
            let mut points = vec![(0.0, 7.0)];
            for (length, rate) in pieces {
                at += length;
                points.push((at, rate));
            }
            let rates = Rates::through(&points);
            let sends = rates.sends_by(at) * share;
            let time = rates.time_of(sends);
            prop_assert!((0.0..=at + 1e-6).contains(&time), "{time} of {at}");
            let back = rates.sends_by(time);
            prop_assert!((back - sends).abs() <= 1e-6 * sends.max(1.0), "{back}, not {sends}");
        }
    }
}
