import math

import numpy as np
import pytest
from blocked import CLOSED, plan, trials

from tare.stats.blocks import BlockedTrials
from tare.stats.effect import effect_of, from_percent
from tare.stats.floor import NoiseFloor, noise_floor
from tare.stats.power import (
    blocks_needed,
    blocks_to_detect,
    detectable_within,
    minimum_detectable,
)
from tare.stats.verdict import Comparison, Direction, Verdict, judge_family


@pytest.mark.parametrize("side", [1, -1])
def test_the_floor_is_the_farthest_reach_of_the_interval(side: int) -> None:
    floor = NoiseFloor(effect_of(side * np.array([-0.05, -0.03, -0.02, 0.0, 0.01, 0.02])))
    assert floor.reach == pytest.approx(0.05)
    assert floor.percent == pytest.approx(100 * math.expm1(0.05))


def test_a_floor_without_interval_is_none_and_not_zero() -> None:
    floor = noise_floor([1.0] * 5, [1.0] * 5)
    assert floor.reach is None
    assert floor.percent is None
    assert noise_floor([1.0], [1.0]).detectable_percent is None


def test_the_floor_falls_with_the_blocks() -> None:
    rng = np.random.default_rng(3)
    reaches = [NoiseFloor(effect_of(0.02 * rng.standard_normal(n))).reach for n in (8, 40, 200)]
    assert reaches == sorted(reaches, key=lambda reach: -(reach or 0))


def test_a_test_that_looks_after_every_block_finds_less_with_as_many() -> None:
    effect = effect_of(0.02 * np.random.default_rng(3).standard_normal(30))
    found = NoiseFloor(effect, at_every_look=True).detectable_percent
    assert found == pytest.approx(100 * math.expm1(minimum_detectable(effect.spread, 20)))
    for until, looks in (("resolved", True), ("narrow", False)):
        made = plan(until=until)
        floor = BlockedTrials(made, CLOSED, trials(made, 8)).floor("cpu")
        assert floor is not None and floor.at_every_look is looks


def test_minimum_detectable_is_the_formula() -> None:
    # t quantiles of 9 degrees of freedom from a printed table: 2.262, 4.781 and 0.883.
    error = math.sqrt(math.pi / 3) * 0.02 / 10**0.5
    assert minimum_detectable(0.02, 10) == pytest.approx((2.262 + 1.768) * error, rel=1e-3)
    strict = minimum_detectable(0.02, 10, alpha=0.001)
    assert strict == pytest.approx((4.781 + 0.883) * error, rel=1e-3)


@pytest.mark.parametrize(("n", "family"), [(12, 1), (24, 2), (60, 6)])
def test_a_minimum_detectable_effect_gets_its_verdict_four_times_in_five(
    n: int, family: int
) -> None:
    rng = np.random.default_rng(n)
    effect = minimum_detectable(1.0, n, 0.05 / family)

    def verdict() -> Verdict:
        return judge_family(
            [
                Comparison(
                    "variant",
                    str(number),
                    Direction.LOWER,
                    effect_of(rng.standard_normal(n) + (0 if number else effect)),
                    NoiseFloor(effect_of(rng.standard_normal(n))),
                )
                for number in range(family)
            ]
        )[0].verdict

    found = np.mean([verdict() is Verdict.COSTS for _ in range(500)])
    assert 0.72 < found < 0.86


def test_a_time_that_gives_no_verdict_finds_nothing() -> None:
    assert detectable_within(0.01, 10, 59) is None
    minute, five = detectable_within(0.01, 2.5, 60), detectable_within(0.01, 2.5, 300)
    assert minute is not None and five is not None
    assert five == pytest.approx(minute / 5**0.5, rel=0.06)


def test_blocks_to_detect_is_enough_and_not_far_too_many() -> None:
    for target in (0.005, 0.01, 0.02, 0.1):
        n = blocks_to_detect(0.02, target)
        assert minimum_detectable(0.02, n) <= target
        assert n == 6 or minimum_detectable(0.02, math.floor(n / 1.1) - 1) > target


@pytest.mark.parametrize(("comparisons", "blocks"), [(1, 6), (2, 7), (6, 8), (12, 9), (40, 11)])
def test_blocks_needed(comparisons: int, blocks: int) -> None:
    assert blocks_needed(comparisons) == blocks
    assert 2.0 ** (1 - blocks) <= 0.05 / comparisons < 2.0 ** (2 - blocks)


def test_no_comparison_needs_no_answer() -> None:
    with pytest.raises(ValueError, match="at least one"):
        blocks_needed(0)


def test_percent_is_of_the_ratio() -> None:
    assert from_percent(2) == pytest.approx(math.log(1.02))
