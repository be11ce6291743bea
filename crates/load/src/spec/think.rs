//! The pause between an answer and the connection's next request.

use rand_distr::{Distribution, Exp1};
use rand_xoshiro::rand_core::Rng;
use serde::Deserialize;

use crate::random::Random;

/// A distribution of think delays, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Think {
    /// Always the same.
    Fixed {
        /// The delay.
        s: f64,
    },
    /// Evenly between two bounds.
    Uniform {
        /// The shortest delay.
        min_s: f64,
        /// The longest delay.
        max_s: f64,
    },
    /// Memoryless, like people who click.
    Exponential {
        /// The mean delay.
        mean_s: f64,
    },
}

impl Think {
    /// Return true if the numbers make a distribution.
    pub fn is_valid(self) -> bool {
        let time = |value: f64| (0.0..=3600.0).contains(&value);
        match self {
            Think::Fixed { s } => time(s),
            Think::Uniform { min_s, max_s } => time(min_s) && time(max_s) && min_s <= max_s,
            Think::Exponential { mean_s } => time(mean_s),
        }
    }

    /// The next delay, in nanoseconds.
    pub fn draw(self, random: &mut Random) -> u64 {
        let seconds = match self {
            Think::Fixed { s } => s,
            Think::Uniform { min_s, max_s } => {
                let share = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                min_s + share * (max_s - min_s)
            }
            Think::Exponential { mean_s } => {
                let share: f64 = Exp1.sample(random);
                mean_s * share
            }
        };
        (seconds * 1e9) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Use, stream};

    fn moments(think: Think) -> (f64, f64) {
        let mut random = stream(5, 0, Use::Think);
        let draws: Vec<f64> = (0..50_000)
            .map(|_| think.draw(&mut random) as f64 / 1e9)
            .collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>();
        (mean, (variance / draws.len() as f64).sqrt())
    }

    #[test]
    fn delays_have_their_distribution() {
        assert_eq!(moments(Think::Fixed { s: 0.5 }).0, 0.5);
        let (mean, deviation) = moments(Think::Uniform {
            min_s: 1.0,
            max_s: 3.0,
        });
        assert!((mean - 2.0).abs() < 0.02 && (deviation - 3f64.sqrt().recip()).abs() < 0.02);
        let (mean, deviation) = moments(Think::Exponential { mean_s: 2.0 });
        assert!((mean - 2.0).abs() < 0.06 && (deviation - 2.0).abs() < 0.1);
    }

    #[test]
    fn impossible_delays_are_told_apart() {
        assert!(!Think::Fixed { s: -1.0 }.is_valid());
        assert!(
            !Think::Uniform {
                min_s: 2.0,
                max_s: 1.0
            }
            .is_valid()
        );
        assert!(
            !Think::Exponential {
                mean_s: f64::INFINITY
            }
            .is_valid()
        );
    }
}
