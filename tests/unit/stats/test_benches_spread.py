"""Benches compared, against samples whose truth is known."""

import warnings

import numpy as np
import pytest
from scipy.stats import ttest_ind

from tare.stats.benches import levels, spread
from tare.stats.floats import Floats

SERIES = 2000


def drawn(random: np.random.Generator, effects: Floats, blocks: int) -> dict[str, Floats]:
    """Blocks of each bench about its own effect, with a standard deviation of 0.01."""
    return {f"b{k}": random.normal(each, 0.01, blocks) for k, each in enumerate(effects)}


def test_equal_benches_are_told_apart_in_one_of_twenty() -> None:
    random = np.random.default_rng(1)
    found = [spread(drawn(random, np.zeros(4), 6)) for _ in range(SERIES)]
    assert sum(each is not None and each.p < 0.05 for each in found) / SERIES < 0.065


def test_the_next_bench_lies_where_it_is_expected() -> None:
    random, within = np.random.default_rng(2), 0
    for _ in range(SERIES):
        *known, other = random.normal(0.1, 0.03, 6)
        found = spread(drawn(random, np.asarray(known), 8))
        assert found is not None and found.next_ is not None
        within += found.next_.low <= random.normal(other, 0.01, 8).mean() <= found.next_.high
    assert 0.93 < within / SERIES < 0.97


def test_a_bench_with_another_effect_is_found_and_its_deviation_estimated() -> None:
    random = np.random.default_rng(3)
    found = spread(drawn(random, np.asarray([0.0, 0.0, 0.1]), 8))
    assert found is not None and found.p < 1e-6
    mean, interval = found.means["b2"]
    assert mean == pytest.approx(0.1, abs=0.01) and interval.low < 0.1 < interval.high
    deviations = []
    for _ in range(300):
        one = spread(drawn(random, random.normal(0, 0.03, 8), 6))
        assert one is not None
        deviations.append(one.deviation**2)
    assert np.sqrt(np.mean(deviations)) == pytest.approx(0.03, rel=0.1)


@pytest.mark.parametrize("percent", np.linspace(0.1, 30, 7))
def test_equal_values_differ_on_no_bench_by_rounding(percent: float) -> None:
    """The mean of equal numbers may differ from them in its last digit."""
    value = float(np.log1p(percent / 100))
    for sizes in ((3, 4), (5, 8), (8, 12), (3, 6, 7)):
        benches = {f"b{size}": np.full(size, value) for size in sizes}
        found = spread(benches)
        assert found is not None and (found.p, found.deviation) == (1.0, 0.0)
        assert found.means[f"b{sizes[0]}"][0] == pytest.approx(value)
        assert [each.p for each in levels(benches)] == [1.0]


def test_a_bench_without_any_spread_is_compared_without_a_warning() -> None:
    noisy = np.random.default_rng(6).normal(0.0, 0.01, 8)
    for value in (0.1, 0.3, 0.7):
        with warnings.catch_warnings(action="error"):
            (first, *_) = levels({"noisy": noisy, "still": np.full(7, value)})
        assert first.p < 0.001 and abs(first.log_ratio) == pytest.approx(value, abs=0.02)


def test_a_level_is_told_as_by_welch() -> None:
    own, other = np.random.default_rng(7).normal(0.0, (0.01, 0.03), (9, 2)).T
    (found,) = levels({"a": own, "b": other[:5]})
    welch = ttest_ind(own, other[:5], equal_var=False)
    low, high = welch.confidence_interval(0.95)
    sign = 1 if found.bench == "a" else -1
    assert found.p == pytest.approx(float(welch.pvalue))
    ends = sorted((sign * found.interval.low, sign * found.interval.high))
    assert ends == pytest.approx([float(low), float(high)])


def test_too_little_compares_nothing() -> None:
    one = {"a": np.asarray([0.1, 0.2])}
    assert spread(one) is None and levels(one) == []
    assert spread(one | {"b": np.asarray([0.1])}) is None, "one block has no spread"
    two = spread(one | {"b": np.asarray([0.1, 0.2])})
    assert two is not None and two.next_ is None and two.p == pytest.approx(1)


def test_benches_without_any_noise_are_compared_too() -> None:
    same = spread({"a": np.zeros(3), "b": np.zeros(3)})
    other = spread({"a": np.zeros(3), "b": np.ones(3)})
    assert same is not None and other is not None and (same.p, other.p) == (1, 0)
    assert [each.p for each in levels({"a": np.zeros(3), "b": np.zeros(3)})] == [1]


def test_a_slow_bench_stands_out() -> None:
    random = np.random.default_rng(4)
    values = drawn(random, np.asarray([0.0, 0.0, np.log(1.2)]), 6)
    slow, rest = levels(values)
    assert slow.bench == "b2" and slow.p < 1e-6 and rest.p > 0.05
    assert slow.interval.low < np.log(1.2) < slow.interval.high
    (only,) = levels({name: values[name] for name in ("b1", "b2")})
    assert only.bench == "b2", "of two the one that needs more"
    false = 0
    for _ in range(SERIES):
        false += levels(drawn(random, np.zeros(3), 6))[0].p < 0.05
    assert false / SERIES < 0.06
