//! Tests of the intended sends.

use super::*;
use crate::random::{Use, stream};
use proptest::prelude::*;

fn times(spread: Spread, rate: f64, seed: u64, thread: usize, threads: usize) -> Vec<u64> {
    let random = stream(seed, thread, Use::Arrivals(0));
    let mut arrivals = Arrivals::new(spread, rate, random, thread, threads);
    (0..20_000).map(|_| arrivals.take()).collect()
}

#[test]
fn even_sends_interleave_over_the_threads() {
    let mut all: Vec<u64> = (0..3)
        .flat_map(|i| times(Spread::Even, 1000.0, 1, i, 3))
        .collect();
    all.sort_unstable();
    let expected: Vec<u64> = (0..60_000).map(|k| k * 1_000_000).collect();
    assert_eq!(all, expected);
}

#[test]
fn a_burst_is_all_of_a_millisecond_over_all_threads() {
    let mut all: Vec<u64> = (0..2)
        .flat_map(|i| times(Spread::Bursts, 20_500.0, 1, i, 2))
        .collect();
    all.sort_unstable();
    let second = &all[..20_500];
    assert!(second.iter().all(|at| at % 1_000_000 == 0));
    assert_eq!(all[20_500], SECOND as u64);
    let counts = second.chunk_by(|a, b| a == b).map(<[u64]>::len);
    assert!(counts.clone().all(|count| count == 20 || count == 21));
    assert_eq!(counts.count(), 1000);
}

#[test]
fn a_changing_rate_has_its_sends_in_each_stretch() {
    // From 1000 to 3000 a second within ten seconds, then steady.
    let rates = Arc::new(Rates::through(&[(0.0, 1000.0), (10.0, 3000.0)]));
    for spread in [Spread::Even, Spread::Poisson, Spread::Bursts] {
        let mut all = Vec::new();
        for thread in 0..3 {
            let random = stream(8, thread, Use::Arrivals(0));
            let series = (thread, 3);
            let mut own = Arrivals::varying(spread, (rates.clone(), 0.5), random, series);
            all.extend(std::iter::repeat_with(|| own.take()).take_while(|at| *at < 20_000_000_000));
        }
        let within = |from: u64, to: u64| {
            let range = from * 1_000_000_000..to * 1_000_000_000;
            all.iter().filter(|at| range.contains(at)).count() as f64
        };
        for (from, to, wanted) in [
            (0, 1, 550.0),
            (9, 10, 1450.0),
            (0, 10, 10_000.0),
            (10, 20, 15_000.0),
        ] {
            let found = within(from, to);
            // Five standard deviations where the sends are at random.
            let slack = if spread == Spread::Poisson {
                5.0 * f64::sqrt(wanted)
            } else {
                2.0
            };
            assert!(
                (found - wanted).abs() <= slack,
                "{spread:?} {from} to {to}: {found}"
            );
        }
    }
}

#[test]
fn a_log_s_times_are_shared_out_and_come_again() {
    let series = |period, thread, threads| {
        let log = Log {
            times: [0, 5, 5, 9].into(),
            period,
            sizes: [].into(),
        };
        let mut arrivals = Arrivals::of_log(log, thread, threads);
        (0..6).map(|_| arrivals.take()).collect::<Vec<_>>()
    };
    let end = u64::MAX;
    assert_eq!(series(None, 0, 1), [0, 5, 5, 9, end, end]);
    assert_eq!(series(None, 1, 3), [5, end, end, end, end, end]);
    assert_eq!(series(Some(10), 0, 1), [0, 5, 5, 9, 10, 15]);
    assert_eq!(series(Some(10), 2, 3), [5, 15, 20, 29, 35, 45]);
}

#[test]
fn a_log_stands_still_between_slices() {
    let log = |period| Log {
        times: [0, 5, 5, 9, 12, 24].into(),
        period,
        sizes: [].into(),
    };
    let mut arrivals = Arrivals::of_log(log(Some(30)), 0, 1);
    // Slices of 10 that begin later and later; each has what the log has in so much time.
    let mut slice = |begin| {
        arrivals.begin_slice(begin, 10);
        let mut sent = Vec::new();
        while arrivals.next() < begin + 10 {
            sent.push(arrivals.take() - begin);
        }
        sent
    };
    assert_eq!(slice(100), [0, 5, 5, 9]);
    assert_eq!(slice(125), [2]);
    assert_eq!(slice(150), [4]);
    assert_eq!(slice(1000), [0, 5, 5, 9]);
    let mut once = Arrivals::of_log(log(None), 0, 1);
    (0..6).for_each(|_| {
        once.take();
    });
    once.begin_slice(7, 10);
    assert_eq!(once.next(), u64::MAX);
}

#[test]
fn slices_of_one_number_have_the_same_random_sends() {
    let random = stream(4, 0, Use::Arrivals(0));
    let mut sides = [(); 2].map(|()| Arrivals::new(Spread::Poisson, 1e5, random.clone(), 0, 1));
    let mut slice = |side: usize, begin: u64| {
        let arrivals: &mut Arrivals = &mut sides[side];
        arrivals.begin_slice(begin, 1_000_000);
        let mut sent = Vec::new();
        while arrivals.next() < begin + 1_000_000 {
            sent.push(arrivals.take() - begin);
        }
        sent
    };
    let mut all = Vec::new();
    for number in 0..100 {
        let begin = 5_000_000 * number;
        let both = [slice(0, begin), slice(1, begin + 2_000_000)];
        assert_eq!(both[0], both[1]);
        assert_ne!(Some(&both[0]), all.last());
        all.extend(both.into_iter().take(1));
    }
    let sends: usize = all.iter().map(Vec::len).sum();
    // Five standard deviations.
    assert!((9_500..10_500).contains(&sends), "{sends}");
}

#[test]
fn even_sends_do_not_drift() {
    let last = times(Spread::Even, 3000.0, 1, 0, 1)[18_000];
    assert_eq!(last, 6_000_000_000);
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(3), ..ProptestConfig::with_cases(32) })]

    #[test]
    fn poisson_has_its_rate_and_its_spread(seed: u64, rate in 1.0..1e5f64, threads in 1usize..4) {
        let times = times(Spread::Poisson, rate, seed, threads - 1, threads);
        prop_assert!(times.is_sorted());
        let expected = SECOND * threads as f64 / rate;
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Five standard errors of 20,000 exponential gaps, and twice that for their spread.
        prop_assert!((mean / expected - 1.0).abs() < 0.036, "mean {mean}, not {expected}");
        prop_assert!((variance.sqrt() / mean - 1.0).abs() < 0.072);
    }

    #[test]
    fn a_seed_and_a_thread_make_the_series(seed: u64) {
        let series = |seed, thread| times(Spread::Poisson, 1000.0, seed, thread, 2);
        prop_assert_eq!(series(seed, 0), series(seed, 0));
        prop_assert_ne!(series(seed, 0), series(seed, 1));
        prop_assert_ne!(series(seed, 0), series(seed.wrapping_add(1), 0));
    }
}
