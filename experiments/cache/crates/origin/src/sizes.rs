//! Distributions of object sizes.

use std::fs;

use rand_distr::weighted::WeightedIndex;
use rand_distr::{Distribution, Normal, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The largest object, in bytes.
const LARGEST: u64 = 1 << 40;

/// A distribution of sizes in bytes; an object's size follows from its path.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// All the same.
    Fixed(u64),
    /// About a mean; at least 1.
    Gauss(Normal<f64>),
    /// A step times a rank that follows Zipf's law.
    Zipf {
        /// The smallest size, and the step from one to the next.
        step: u64,
        /// The law of the ranks.
        ranks: Zipf<f64>,
    },
    /// By a table.
    Real {
        /// The sizes.
        sizes: Vec<u64>,
        /// The share of each size.
        shares: WeightedIndex<f64>,
    },
    /// The number at the end of the path.
    User,
}

impl Sizes {
    /// Read `fixed:BYTES`, `gauss:MEAN:DEVIATION`, `zipf:STEP:LARGEST:ALPHA`, `real:FILE` (a size
    /// and its weight a line) or `user`.
    ///
    /// # Errors
    /// A sentence that says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let words: Vec<&str> = rest.split(':').collect();
        match (kind, words.as_slice()) {
            ("fixed", [size]) => Ok(Sizes::Fixed(bytes(size)?)),
            ("gauss", [mean, deviation]) => {
                let law = Normal::new(positive(mean)?, positive(deviation)?);
                Ok(Sizes::Gauss(law.map_err(|why| format!("{text}: {why}"))?))
            }
            ("zipf", [step, largest, alpha]) => {
                let (step, largest) = (bytes(step)?, bytes(largest)?);
                let count = (largest / step).max(1);
                let ranks = Zipf::new(count as f64, positive(alpha)?);
                let ranks = ranks.map_err(|why| format!("{text}: {why}"))?;
                Ok(Sizes::Zipf { step, ranks })
            }
            ("real", _) => table(rest),
            ("user", [""]) => Ok(Sizes::User),
            _ => Err(format!(
                "found {text:?}, expected fixed:BYTES, gauss:MEAN:DEVIATION, \
                 zipf:STEP:LARGEST:ALPHA, real:FILE or user"
            )),
        }
    }

    /// The size of the object at `path`, whose digest is `seed`; `None`: it has none.
    pub fn of(&self, path: &str, seed: [u8; 32]) -> Option<u64> {
        let mut random = Xoshiro256PlusPlus::from_seed(seed);
        match self {
            Sizes::Fixed(size) => Some(*size),
            Sizes::Gauss(law) => Some(law.sample(&mut random).round().clamp(1.0, 1e12) as u64),
            Sizes::Zipf { step, ranks } => Some(step * ranks.sample(&mut random) as u64),
            Sizes::Real { sizes, shares } => Some(sizes[shares.sample(&mut random)]),
            Sizes::User => {
                let digits = path.len() - path.trim_end_matches(|c: char| c.is_ascii_digit()).len();
                let size = path[path.len() - digits..].parse().ok()?;
                (size <= LARGEST).then_some(size)
            }
        }
    }
}

fn table(file: &str) -> Result<Sizes, String> {
    let text = fs::read_to_string(file).map_err(|why| format!("{file}: {why}"))?;
    let (mut sizes, mut weights) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            [size, weight] => {
                let within = |why| format!("{file} line {}: {why}", number + 1);
                sizes.push(bytes(size).map_err(within)?);
                weights.push(positive(weight).map_err(within)?);
            }
            _ => {
                return Err(format!(
                    "{file} line {}: expected a size and a weight",
                    number + 1
                ));
            }
        }
    }
    let shares = WeightedIndex::new(&weights).map_err(|why| format!("{file}: {why}"))?;
    Ok(Sizes::Real { sizes, shares })
}

fn bytes(text: &str) -> Result<u64, String> {
    let size = text
        .parse()
        .ok()
        .filter(|size| (1..=LARGEST).contains(size));
    size.ok_or_else(|| format!("found {text:?}, expected bytes from 1 to {LARGEST}"))
}

fn positive(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("found {text:?}, expected a number above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::digest;

    /// Sizes of 2000 objects.
    fn sizes(text: &str) -> Vec<f64> {
        let law = Sizes::parse(text).unwrap();
        let seed = |number: u32| {
            let mut seed = [0; 32];
            digest(&number.to_le_bytes(), &mut seed);
            seed
        };
        (0..2000)
            .map(|number| law.of("/", seed(number)).unwrap() as f64)
            .collect()
    }

    fn mean(sizes: &[f64]) -> f64 {
        sizes.iter().sum::<f64>() / sizes.len() as f64
    }

    #[test]
    fn a_gauss_has_its_mean_and_deviation() {
        let found = sizes("gauss:10000:1000");
        let squares: Vec<f64> = found.iter().map(|size| (size - 10_000.0).powi(2)).collect();
        assert!((mean(&found) - 10_000.0).abs() < 120.0);
        assert!((mean(&squares).sqrt() - 1000.0).abs() < 100.0);
        assert!(sizes("gauss:1:1000").iter().all(|size| *size >= 1.0));
    }

    #[test]
    fn zipf_s_law_holds() {
        let found = sizes("zipf:1024:102400:1");
        let share =
            |rank: f64| found.iter().filter(|size| **size == rank * 1024.0).count() as f64 / 2000.0;
        let sum: f64 = (1..=100).map(|rank| 1.0 / f64::from(rank)).sum();
        assert!((share(1.0) - 1.0 / sum).abs() < 0.05 && (share(2.0) - 0.5 / sum).abs() < 0.04);
        assert!(found.iter().all(|size| (1024.0..=102_400.0).contains(size)));
    }

    #[test]
    fn a_table_is_followed() {
        let file = std::env::temp_dir().join(format!("sizes-{}", std::process::id()));
        fs::write(&file, "# bytes weight\n100 3\n\n5000 1\n").unwrap();
        let found = sizes(&format!("real:{}", file.display()));
        let small = found.iter().filter(|size| **size == 100.0).count() as f64 / 2000.0;
        assert!((small - 0.75).abs() < 0.05);
        fs::write(&file, "100\n").unwrap();
        let refused = Sizes::parse(&format!("real:{}", file.display())).unwrap_err();
        assert!(refused.contains("line 1"), "{refused}");
        fs::write(&file, "# nothing\n").unwrap();
        assert!(Sizes::parse(&format!("real:{}", file.display())).is_err());
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn users_write_the_size_into_the_path() {
        let of = |path| Sizes::User.of(path, [0; 32]);
        assert_eq!(of("/v/video-2-20480"), Some(20_480));
        assert_eq!(of("/0"), Some(0));
        assert_eq!(of("/video"), None);
        assert_eq!(of("/99999999999999999999"), None);
        assert_eq!(of("/2000000000000"), None);
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for text in [
            "",
            "fixed",
            "fixed:0",
            "fixed:x",
            "gauss:1",
            "gauss:1:-1",
            "zipf:1:10:0",
            "user:1",
            "real:/nonexistent",
            "pareto:1:2",
        ] {
            assert!(Sizes::parse(text).is_err(), "{text:?}");
        }
    }
}
