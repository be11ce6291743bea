//! The rounds of a duel, and which of them are ordinary.

use std::collections::BTreeMap;

/// One in so many rounds is no ordinary one, rounded down.
const APART: usize = 10;

/// Answers of each target in a round, at the mean, from which on a few slow ones leave it ordinary.
const SOME: usize = 10;

/// A target's part of a round that counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Correct answers, those that came after their slice included.
    pub requests: u64,
    /// CPU time of its groups, in nanoseconds, by role.
    pub cpu: BTreeMap<String, u64>,
    /// Of it, that in the slices of other targets.
    pub elsewhere: u64,
    /// Latencies of the correct answers to requests of its slice, in nanoseconds, as precise as a
    /// histogram needs them.
    pub latencies: Vec<f32>,
}

impl Round {
    fn cost(rounds: &[&Round]) -> f64 {
        let cpu: u64 = rounds.iter().flat_map(|own| own.cpu.values()).sum();
        let requests: u64 = rounds.iter().map(|own| own.requests).sum();
        // A round without requests is costly if it used any.
        cpu as f64 / (requests as f64).max(f64::MIN_POSITIVE)
    }

    /// Charged for answers of another round, or for those of this one only later.
    fn is_late(&self) -> bool {
        !self.cpu.is_empty() && self.requests > 0 && self.cpu.values().sum::<u64>() == 0
    }

    fn slowest(&self) -> f32 {
        self.latencies.iter().copied().fold(0.0, f32::max)
    }
}

/// For each round whether it is ordinary in CPU time, by the parts of all targets: all are but the tenth
/// in which the targets together used most CPU time per request. As the targets are looked at together,
/// it favours none of them.
///
/// `None` if a target answered requests of some round without CPU time: then its CPU time is charged
/// later, in another round, and it is unknown which of them was costly.
pub fn ordinary_in_cpu(targets: &[&[Round]]) -> Option<Vec<bool>> {
    if targets
        .iter()
        .any(|rounds| rounds.iter().any(Round::is_late))
    {
        return None;
    }
    let of = |round: usize| {
        let parts: Vec<&Round> = targets.iter().map(|rounds| &rounds[round]).collect();
        Round::cost(&parts)
    };
    Some(all_but_highest((0..length(targets)).map(of)))
}

/// For each round whether it is ordinary in latency: all are but the tenth that was slowest for one of
/// the targets. A round is as slow for a target as its slowest answer ranks among those of the target's
/// own rounds, so that a slow target loses no more of its rounds than a fast one.
///
/// `None` if a target has so few answers in a round that leaving rounds out would mean to leave out its
/// slowest answers one by one.
pub fn ordinary_in_latency(targets: &[&[Round]]) -> Option<Vec<bool>> {
    let all = length(targets);
    let answers = |rounds: &[Round]| rounds.iter().map(|own| own.latencies.len()).sum::<usize>();
    if targets.iter().any(|rounds| answers(rounds) < SOME * all) {
        return None;
    }
    let mut highest = vec![0; all];
    for rounds in targets {
        let mut order: Vec<usize> = (0..all).collect();
        order.sort_by(|a, b| rounds[*a].slowest().total_cmp(&rounds[*b].slowest()));
        for (rank, round) in order.into_iter().enumerate() {
            highest[round] = highest[round].max(rank);
        }
    }
    Some(all_but_highest(highest.into_iter().map(|rank| rank as f64)))
}

fn length(targets: &[&[Round]]) -> usize {
    targets.first().map_or(0, |rounds| rounds.len())
}

/// True but for the tenth of the values that is highest.
fn all_but_highest(values: impl Iterator<Item = f64>) -> Vec<bool> {
    let mut highest: Vec<(f64, usize)> = values.zip(0..).collect();
    highest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found = vec![true; highest.len()];
    for (_, round) in &highest[..highest.len() / APART] {
        found[*round] = false;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round(requests: u64, cpu: u64) -> Round {
        Round {
            requests,
            cpu: BTreeMap::from([("sut".into(), cpu)]),
            ..Round::default()
        }
    }

    fn answered(latencies: Vec<f32>) -> Round {
        Round {
            latencies,
            ..Round::default()
        }
    }

    /// A round with answers of this latency, and one of that.
    fn slow(most: f32, one: f32) -> Round {
        answered([vec![most; SOME], vec![one]].concat())
    }

    fn apart(found: &[bool]) -> Vec<usize> {
        (0..found.len()).filter(|round| !found[*round]).collect()
    }

    #[test]
    fn the_costliest_tenth_of_both_together_is_left_out() {
        let mut old = vec![round(10, 1000); 20];
        let mut new = old.clone();
        old[3] = round(10, 9000);
        // Costly for one target, and not for both together.
        (old[5], new[5]) = (round(10, 100), round(10, 1900));
        // As costly as others for so many requests.
        (old[6], new[6]) = (round(100, 10_000), round(100, 10_000));
        new[17] = round(1, 1000);
        let found = ordinary_in_cpu(&[&old, &new]).unwrap();
        assert_eq!(apart(&found), [3, 17]);
        let few = ordinary_in_cpu(&[&old[..9], &new[..9]]);
        assert_eq!(few, Some(vec![true; 9]));
        assert_eq!(ordinary_in_cpu(&[]), Some(Vec::new()));
    }

    #[test]
    fn what_is_charged_late_is_in_no_round() {
        let old = vec![round(10, 1000); 20];
        let mut new = old.clone();
        (new[4], new[5]) = (round(10, 0), round(10, 2000));
        assert_eq!(ordinary_in_cpu(&[&old, &new]), None);
        new[4] = round(0, 0);
        assert!(ordinary_in_cpu(&[&old, &new]).is_some());
        let without = vec![slow(1.0, 1.0); 20];
        assert!(ordinary_in_cpu(&[&old, &without]).is_some());
    }

    #[test]
    fn the_slowest_tenth_is_left_out_whichever_target_was_slow() {
        // All answers of `new` are later than any of `old`.
        let mut old: Vec<_> = (0..20).map(|each| slow(1.0, 2.0 + each as f32)).collect();
        let mut new: Vec<_> = (0..20)
            .map(|each| slow(100.0, 140.0 - each as f32))
            .collect();
        old[7] = slow(1.0, 90.0);
        new[12] = slow(100.0, 900.0);
        let found = ordinary_in_latency(&[&old, &new]).unwrap();
        assert_eq!(apart(&found), [7, 12]);
        assert_eq!(ordinary_in_latency(&[]), Some(Vec::new()));
    }

    #[test]
    fn single_answers_are_not_left_out_one_by_one() {
        let many = vec![slow(1.0, 2.0); 20];
        let few = vec![answered(vec![1.0; SOME - 1]); 20];
        assert!(ordinary_in_latency(&[&many, &many]).is_some());
        assert_eq!(ordinary_in_latency(&[&many, &few]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(5), ..ProptestConfig::with_cases(64) })]

        #[test]
        fn it_knows_no_target(parts: Vec<((u8, u16), (u8, u16))>) {
            let side = |own: &(u8, u16)| Round { latencies: slow(1.0, own.1.into()).latencies, ..round(own.0.into(), own.1.into()) };
            let old: Vec<_> = parts.iter().map(|(own, _)| side(own)).collect();
            let new: Vec<_> = parts.iter().map(|(_, own)| side(own)).collect();
            for rule in [ordinary_in_cpu, ordinary_in_latency] {
                let found = rule(&[&old, &new]);
                prop_assert_eq!(&found, &rule(&[&new, &old]));
                if let Some(found) = found {
                    prop_assert_eq!(apart(&found).len(), parts.len() / 10);
                }
            }
        }

        /// A target that takes twice as long loses the same rounds.
        #[test]
        fn it_knows_no_unit(parts: Vec<(u16, u16)>) {
            let side = |own: u16, times: f32| slow(0.0, f32::from(own) * times);
            let old: Vec<_> = parts.iter().map(|(own, _)| side(*own, 1.0)).collect();
            let new = |times| parts.iter().map(|(_, own)| side(*own, times)).collect::<Vec<_>>();
            prop_assert_eq!(ordinary_in_latency(&[&old, &new(1.0)]), ordinary_in_latency(&[&old, &new(2.0)]));
        }
    }
}
