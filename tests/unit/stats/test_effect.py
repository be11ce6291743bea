import math
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.effect import (
    Effect,
    effect_of,
    from_percent,
    paired_effect,
    paired_log_ratios,
    to_percent,
)
from tare.stats.location import walsh_averages

positive = st.floats(1e-3, 1e6)
pairs = st.lists(st.tuples(positive, positive), min_size=1, max_size=14)


def split(blocks: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [v for v, _ in blocks], [b for _, b in blocks]


def bounds(effect: Effect) -> tuple[float, float]:
    assert effect.interval is not None
    return effect.interval.low, effect.interval.high


@given(pairs)
def test_the_estimate_is_the_median_of_all_pairwise_averages(
    blocks: list[tuple[float, float]],
) -> None:
    d = [math.log(v / b) for v, b in blocks]
    averages = [(d[i] + d[j]) / 2 for i in range(len(d)) for j in range(i, len(d))]
    assert paired_effect(*split(blocks)).log_ratio == pytest.approx(median(averages), abs=1e-9)


@given(pairs)
def test_swapping_variant_and_baseline_mirrors_everything(
    blocks: list[tuple[float, float]],
) -> None:
    variant, baseline = split(blocks)
    there, back = paired_effect(variant, baseline), paired_effect(baseline, variant)
    assert back.log_ratio == -there.log_ratio
    assert back.p == there.p
    if there.interval is None:
        assert back.interval is None
    else:
        low, high = bounds(there)
        assert bounds(back) == (-high, -low)
        assert low <= there.log_ratio <= high


@given(pairs, st.sampled_from([1e-6, 0.1, 3.0, 1e9]))
def test_the_unit_does_not_matter(blocks: list[tuple[float, float]], scale: float) -> None:
    variant, baseline = split(blocks)
    one = paired_effect(variant, baseline)
    other = paired_effect([scale * x for x in variant], [scale * x for x in baseline])
    assert other.log_ratio == pytest.approx(one.log_ratio, abs=1e-11)
    assert other.spread == pytest.approx(one.spread, abs=1e-11)


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=12), st.floats(-1, 1))
def test_a_shift_of_all_differences_shifts_the_effect(d: list[float], shift: float) -> None:
    one, other = effect_of(np.array(d)), effect_of(np.array(d) + shift)
    assert other.log_ratio == pytest.approx(one.log_ratio + shift, abs=1e-9)
    assert bounds(other) == pytest.approx([end + shift for end in bounds(one)], abs=1e-9)


def test_a_block_that_drifts_as_a_whole_changes_nothing() -> None:
    variant, baseline = [105.0, 104.0, 106.0, 107.0, 105.5, 104.5, 106.5], [100.0] * 7
    drift = [1, 2, 4, 8, 16, 32, 64]
    drifted = paired_effect(
        [v * f for v, f in zip(variant, drift, strict=True)],
        [b * f for b, f in zip(baseline, drift, strict=True)],
    )
    assert drifted.log_ratio == pytest.approx(paired_effect(variant, baseline).log_ratio)


def test_the_interval_is_of_the_ranks_of_the_table() -> None:
    d = np.array([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8])
    walsh = walsh_averages(d)
    assert bounds(effect_of(d)) == (walsh[3], walsh[-4])  # n = 8: T ≤ 3, so the 4th from each end
    interval = effect_of(d).interval
    assert interval is not None
    assert interval.level == pytest.approx(1 - 10 / 256)


def test_a_lower_level_narrows_the_interval() -> None:
    d = np.random.default_rng(1).standard_normal(12)
    low, high = bounds(effect_of(d, 0.95))
    narrow_low, narrow_high = bounds(effect_of(d, 0.90))
    assert low < narrow_low < narrow_high < high


def test_sixty_blocks_are_exact() -> None:
    effect = effect_of(np.random.default_rng(1).standard_normal(60) + 3)
    assert effect.interval is not None
    assert 0.95 <= effect.interval.level < 0.952
    assert effect.p == pytest.approx(2.0**-59)


def test_too_few_blocks_have_an_estimate_and_a_reason() -> None:
    effect = paired_effect([2.0] * 5, [1.0] * 5)
    assert effect.percent == pytest.approx(100)
    assert effect.interval is None
    assert effect.percent_interval is None
    assert effect.missing == "5 blocks give no 95 % interval: it takes 6"


def test_equal_values_are_no_effect_with_a_point_interval() -> None:
    effect = paired_effect([3.0] * 8, [3.0] * 8)
    assert (effect.log_ratio, bounds(effect), effect.p, effect.spread) == (0, (0, 0), 1, 0)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_value_without_a_ratio_is_named_by_its_block(bad: float) -> None:
    with pytest.raises(ValueError, match=f"block 2: the variant's value is {bad}"):
        paired_log_ratios([1, 1, bad], [1, 1, 1])
    with pytest.raises(ValueError, match=f"block 1: the baseline's value is {bad}"):
        paired_log_ratios([1, 1, 1], [1, bad, 1])


@pytest.mark.parametrize(("variant", "baseline"), [([], []), ([1.0], [1.0, 2.0])])
def test_unpaired_values_are_refused(variant: list[float], baseline: list[float]) -> None:
    with pytest.raises(ValueError, match="equally many"):
        paired_log_ratios(variant, baseline)


@given(st.floats(-99, 1e4))
def test_percent_and_back(percent: float) -> None:
    assert to_percent(from_percent(percent)) == pytest.approx(percent, abs=1e-9)
