//! The cost of a duel's rounds, and which of them are ordinary.

use std::collections::BTreeMap;

/// One in so many rounds is no ordinary one, rounded down.
const APART: usize = 10;

/// A target's part of a round that counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Correct answers, those that came after their slice included.
    pub requests: u64,
    /// CPU time of its groups, in nanoseconds, by role.
    pub cpu: BTreeMap<String, u64>,
}

impl Round {
    fn cost(rounds: &[&Round]) -> f64 {
        let cpu: u64 = rounds.iter().flat_map(|own| own.cpu.values()).sum();
        let requests: u64 = rounds.iter().map(|own| own.requests).sum();
        // A round without requests is costly if it used any.
        cpu as f64 / (requests as f64).max(f64::MIN_POSITIVE)
    }

    /// Add another part.
    pub fn add(&mut self, other: &Round) {
        self.requests += other.requests;
        for (role, used) in &other.cpu {
            *self.cpu.entry(role.clone()).or_default() += used;
        }
    }
}

/// For each round whether it is ordinary, by the parts of all targets: all are but the tenth in which
/// the targets together used most CPU time per request. As the targets are looked at together, it
/// favours none of them.
///
/// `None` if a target answered requests of some round without CPU time: then its CPU time is charged
/// later, in another round, and it is unknown which of them was costly.
pub fn ordinary(targets: &[&[Round]]) -> Option<Vec<bool>> {
    let late = |round: &Round| {
        !round.cpu.is_empty() && round.requests > 0 && round.cpu.values().sum::<u64>() == 0
    };
    if targets.iter().any(|rounds| rounds.iter().any(late)) {
        return None;
    }
    let all = targets.first().map_or(0, |rounds| rounds.len());
    let of = |round: usize| {
        let parts: Vec<&Round> = targets.iter().map(|rounds| &rounds[round]).collect();
        Round::cost(&parts)
    };
    let mut costliest: Vec<(f64, usize)> = (0..all).map(|round| (of(round), round)).collect();
    costliest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut ordinary = vec![true; all];
    for (_, round) in &costliest[..all / APART] {
        ordinary[*round] = false;
    }
    Some(ordinary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round(requests: u64, cpu: u64) -> Round {
        let cpu = BTreeMap::from([("sut".into(), cpu)]);
        Round { requests, cpu }
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
        let found = ordinary(&[&old, &new]).unwrap();
        let apart: Vec<_> = (0..20).filter(|round| !found[*round]).collect();
        assert_eq!(apart, [3, 17]);
        assert_eq!(ordinary(&[&old[..9], &new[..9]]), Some(vec![true; 9]));
        assert_eq!(ordinary(&[]), Some(Vec::new()));
    }

    #[test]
    fn what_is_charged_late_is_in_no_round() {
        let old = vec![round(10, 1000); 20];
        let mut new = old.clone();
        (new[4], new[5]) = (round(10, 0), round(10, 2000));
        assert_eq!(ordinary(&[&old, &new]), None);
        new[4] = round(0, 0);
        assert!(ordinary(&[&old, &new]).is_some());
        let without = vec![
            Round {
                requests: 10,
                cpu: BTreeMap::new()
            };
            20
        ];
        assert!(ordinary(&[&old, &without]).is_some());
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(5), ..ProptestConfig::with_cases(64) })]

        #[test]
        fn it_knows_no_target(parts: Vec<((u8, u16), (u8, u16))>) {
            let side = |own: &(u8, u16)| round(own.0.into(), own.1.into());
            let old: Vec<_> = parts.iter().map(|(own, _)| side(own)).collect();
            let new: Vec<_> = parts.iter().map(|(_, own)| side(own)).collect();
            let found = ordinary(&[&old, &new]);
            prop_assert_eq!(&found, &ordinary(&[&new, &old]));
            if let Some(found) = found {
                prop_assert_eq!(found.iter().filter(|own| !**own).count(), parts.len() / 10);
            }
        }
    }
}
