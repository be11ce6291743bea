from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.effect import effect_of, from_percent
from tare.stats.floor import NoiseFloor
from tare.stats.verdict import (
    Comparison,
    Criteria,
    Direction,
    Judgement,
    Verdict,
    judge,
    judge_family,
)


def comparison(
    percent: float,
    spread: float = 0.5,
    n: int = 10,
    better: Direction = Direction.LOWER,
    floor_spread: float | None = 0.2,
) -> Comparison:
    """An effect of `percent`, its differences evenly spread over ±`spread` percent."""
    shape = np.linspace(-1, 1, n) / 100
    floor = None if floor_spread is None else NoiseFloor(effect_of(floor_spread * shape))
    effect = effect_of(from_percent(percent) + spread * shape)
    return Comparison("variant", "latency_p50_us", better, effect, floor)


def alone(one: Comparison) -> Judgement:
    (judgement,) = judge_family([one])
    return judgement


@pytest.mark.parametrize(
    ("percent", "better", "verdict"),
    [
        (5, Direction.LOWER, Verdict.COSTS),
        (-5, Direction.LOWER, Verdict.SAVES),
        (5, Direction.HIGHER, Verdict.SAVES),
        (-5, Direction.HIGHER, Verdict.COSTS),
        (0, Direction.LOWER, Verdict.EQUIVALENT),
        (0, Direction.HIGHER, Verdict.EQUIVALENT),
    ],
)
def test_the_four_corners(percent: float, better: Direction, verdict: Verdict) -> None:
    judgement = alone(comparison(percent, better=better))
    assert judgement.verdict is verdict
    assert judgement.more_blocks is None


def test_a_clear_effect_within_the_margin_costs_and_says_that_it_is_small() -> None:
    judgement = alone(comparison(1))
    assert judgement.verdict is Verdict.COSTS
    clear = "p 0.002 after Holm, above the noise floor of 0.11 %"
    assert judgement.why == f"{clear}, though within ±2 %"


def test_an_effect_below_the_noise_floor_is_not_a_finding() -> None:
    judgement = alone(comparison(3, floor_spread=9))
    assert judgement.verdict is Verdict.UNRESOLVED
    assert "below the noise floor of 5.1 %" in judgement.why
    # The floor is 1.69 times the effect (0.05 to 0.0296 in log ratios), so 1.69² times the blocks.
    assert judgement.more_blocks == 29 - 10


def test_a_floor_with_a_bias_is_not_cured_by_more_blocks() -> None:
    biased = NoiseFloor(effect_of(0.05 + np.linspace(-1, 1, 10) / 1000))
    judgement = alone(replace(comparison(3), floor=biased))
    assert judgement.verdict is Verdict.UNRESOLVED
    assert "the A/A control itself differs" in judgement.why
    assert judgement.more_blocks is None


def test_without_a_floor_there_is_no_finding() -> None:
    short = NoiseFloor(effect_of(np.zeros(5)))
    judgement = alone(replace(comparison(5), floor=short))
    assert judgement.verdict is Verdict.UNRESOLVED
    assert judgement.why == f"there is no noise floor: {short.effect.missing}"


def test_baseline_again_is_judged_without_its_own_floor() -> None:
    assert alone(comparison(5, floor_spread=None)).verdict is Verdict.COSTS


def test_holm_takes_back_what_one_of_many_shows() -> None:
    rng = np.random.default_rng(2)
    weak = replace(comparison(0), effect=effect_of(0.03 + 0.04 * rng.standard_normal(12)))
    assert 0.005 < weak.effect.p < 0.05
    assert alone(weak).verdict is Verdict.COSTS
    crowd = [comparison(0, n=12)] * 11
    judgement = judge_family([weak, *crowd])[0]
    assert judgement.verdict is Verdict.UNRESOLVED
    assert "after Holm over 12 comparisons" in judgement.why
    assert judgement.p_adjusted == pytest.approx(12 * weak.effect.p)
    assert judgement.more_blocks is not None


def test_too_few_blocks_for_so_many_comparisons_says_how_many() -> None:
    judgement = judge_family([comparison(9, n=8)] * 12)[0]
    assert judgement.verdict is Verdict.UNRESOLVED
    assert judgement.why.endswith("among 12 comparisons: it takes 9")
    assert judgement.more_blocks == 1


def test_too_few_blocks_below_a_noise_floor_count_those_that_lower_it() -> None:
    """A few more would allow a verdict among so many comparisons, and not give one."""
    judgement = judge_family([comparison(9, n=8, floor_spread=18)] * 12)[0]
    assert "it takes 9; the effect is below the noise floor of " in judgement.why
    assert judgement.more_blocks is not None and judgement.more_blocks > 8
    biased = NoiseFloor(effect_of(0.1 + 0.01 * np.linspace(-1, 1, 8)))
    judgement = judge_family([replace(comparison(9, n=8), floor=biased)] * 12)[0]
    assert judgement.why.endswith("where the A/A control itself differs from the baseline")
    assert judgement.more_blocks is None


def test_too_few_blocks_for_an_interval_says_how_many() -> None:
    judgement = alone(comparison(9, n=4))
    assert judgement.verdict is Verdict.UNRESOLVED
    assert judgement.why == "4 blocks give no 95 % interval: it takes 6"
    assert judgement.more_blocks == 2
    assert judge_family([comparison(9, n=4)] * 6)[0].more_blocks == 4
    assert alone(comparison(9, n=1)).why == "1 block gives no 95 % interval: it takes 6"


def test_noise_leaves_it_unresolved_and_says_what_it_takes() -> None:
    few, many = alone(comparison(0.5, spread=8)), alone(comparison(0.5, spread=16))
    for judgement in (few, many):
        assert judgement.verdict is Verdict.UNRESOLVED
        assert judgement.why == "the interval contains 0 and reaches beyond ±2 %"
    assert few.more_blocks is not None
    assert many.more_blocks is not None
    assert 20 < few.more_blocks < many.more_blocks / 3


def test_a_larger_family_needs_more_blocks() -> None:
    noisy = comparison(0.5, spread=8)
    one, many = alone(noisy).more_blocks, judge_family([noisy] * 200)[0].more_blocks
    assert one is not None
    assert many is not None
    # A small family asks for no more than the noise floor does.
    assert many > 1.4 * one


def test_where_zeros_part_the_test_from_the_interval_both_must_agree() -> None:
    effect = effect_of(np.array([0.0] * 4 + [0.05] * 6))
    assert effect.p == 2 / 64
    judgement = alone(replace(comparison(0), effect=effect))
    assert judgement.verdict is Verdict.UNRESOLVED
    assert judgement.why == "the interval contains 0 and reaches beyond ±2 %"


def test_the_margin_is_a_matter_of_choice() -> None:
    noisy = comparison(0, spread=5)
    assert alone(noisy).verdict is Verdict.UNRESOLVED
    (judgement,) = judge_family([noisy], Criteria(margin_percent=10))
    assert judgement.verdict is Verdict.EQUIVALENT


def test_no_comparisons_no_judgements() -> None:
    assert judge_family([]) == []


differences = st.lists(st.floats(-0.1, 0.1), min_size=1, max_size=12).map(np.array)
OPPOSITE = {
    Verdict.COSTS: Verdict.SAVES,
    Verdict.SAVES: Verdict.COSTS,
    Verdict.EQUIVALENT: Verdict.EQUIVALENT,
    Verdict.UNRESOLVED: Verdict.UNRESOLVED,
}


@given(differences, differences, st.integers(1, 20))
def test_seen_from_the_other_side_the_verdict_is_the_opposite(
    d: np.ndarray, again: np.ndarray, family: int
) -> None:
    floor = NoiseFloor(effect_of(again))
    there = Comparison("v", "o", Direction.LOWER, effect_of(d), floor)
    p = min(1.0, family * there.effect.p)
    judgement = judge(there, p, family)
    back = judge(replace(there, effect=effect_of(-d)), p, family)
    other = judge(replace(there, better=Direction.HIGHER), p, family)
    assert back.verdict is OPPOSITE[judgement.verdict]
    assert other.verdict is OPPOSITE[judgement.verdict]
    assert judgement.why
    assert judgement.more_blocks is None or judgement.more_blocks > 0


def test_a_test_at_every_look_takes_more_blocks() -> None:
    noisy = comparison(0.3, n=12, spread=4)
    once, often = (
        judge_family([noisy], Criteria(at_every_look=looks))[0].more_blocks
        for looks in (False, True)
    )
    assert once is not None and often is not None
    assert often + 12 == pytest.approx(1.5 * (once + 12), abs=1)
