//! The spread within a duel, by the means of batches of rounds.

use super::rounds::Round;

/// Batches of consecutive rounds, which all but cancel what one round has of the one before. Between 10
/// and 30 are enough whatever the length (Schmeiser, "Batch Size Effects in the Analysis of Simulation
/// Output", Operations Research 30, 1982).
const BATCHES: usize = 20;

const FEWEST: usize = 10;

/// The standard error of the logarithm of the ratio between what `of` says of two targets' rounds, each
/// pair of which was one round.
///
/// `None` for fewer than ten rounds, and where some batch has no such value above 0 on either side.
pub fn standard_error(
    targets: [&[&Round]; 2],
    of: impl Fn(&[&Round]) -> Option<f64>,
) -> Option<f64> {
    let rounds = targets[0].len();
    let batches = BATCHES.min(rounds);
    if batches < FEWEST {
        return None;
    }
    let logarithm = |rounds: &[&Round]| of(rounds).filter(|value| *value > 0.0).map(f64::ln);
    let ratios: Option<Vec<f64>> = (0..batches)
        .map(|batch| {
            let own = batch * rounds / batches..(batch + 1) * rounds / batches;
            let [first, second] = targets.map(|each| logarithm(&each[own.clone()]));
            Some(second? - first?)
        })
        .collect();
    let (ratios, count) = (ratios?, batches as f64);
    let mean = ratios.iter().sum::<f64>() / count;
    let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    Some((squares / (count - 1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(requests: impl Iterator<Item = u64>) -> Vec<Round> {
        let round = |requests| Round {
            requests,
            ..Round::default()
        };
        requests.map(round).collect()
    }

    fn error(first: &[Round], second: &[Round]) -> Option<f64> {
        let (first, second): (Vec<_>, Vec<_>) = (first.iter().collect(), second.iter().collect());
        standard_error([&first, &second], |own| {
            Some(own.iter().map(|round| round.requests).sum::<u64>() as f64)
        })
    }

    #[test]
    fn a_constant_ratio_has_no_error_however_both_vary_together() {
        let found = error(&rounds(1..41), &rounds((1..41).map(|count| 3 * count)));
        assert!(found.unwrap() < 1e-12);
    }

    #[test]
    fn it_is_that_of_the_mean_of_batches() {
        // Of 20 batches half are at ln 2 and half at 0.
        let second = (0..40).map(|round| if round / 2 % 2 == 0 { 20 } else { 10 });
        let found = error(&rounds(std::iter::repeat_n(10, 40)), &rounds(second));
        let wanted = (20.0 * (0.5 * 2f64.ln()).powi(2) / 19.0 / 20.0).sqrt();
        assert!((found.unwrap() - wanted).abs() < 1e-12);
    }

    #[test]
    fn few_rounds_and_batches_without_a_value_have_none() {
        let nine = rounds(1..10);
        assert_eq!(error(&nine, &nine), None);
        let some = rounds(0..20);
        assert_eq!(error(&some, &some), None);
    }
}
