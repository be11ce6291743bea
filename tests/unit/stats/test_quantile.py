import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from tare.stats.quantile import (
    interval_ranks,
    median,
    quantile_interval,
    quantile_rank,
    smallest_sample,
)


@pytest.mark.parametrize(
    ("q", "n"), [(0.5, 5), (0.9, 29), (0.99, 299), (0.999, 2995), (0.9999, 29956), (0.01, 299)]
)
def test_the_smallest_sample_is_the_first_whose_extreme_is_a_bound(q: float, n: int) -> None:
    assert smallest_sample(q) == n
    tail = max(q, 1 - q)
    assert 1 - tail**n >= 0.95 > 1 - tail ** (n - 1)


@given(st.integers(1, 5000), st.floats(0.001, 0.999), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_ranks_are_the_binomial_ones(n: int, q: float, level: float) -> None:
    found, miss = interval_ranks(n, q, level), (1 - level) / 2
    if found is None:
        assert q**n > miss or (1 - q) ** n > miss
        return
    low, high, achieved = found
    assert binom.cdf(low - 1, n, q) <= miss + 1e-9
    assert binom.cdf(low, n, q) > miss - 1e-9
    assert binom.sf(high - 1, n, q) <= miss + 1e-9
    assert binom.sf(high - 2, n, q) > miss - 1e-9
    assert achieved == pytest.approx(binom.cdf(high - 1, n, q) - binom.cdf(low - 1, n, q))
    assert achieved >= level - 1e-9


@pytest.mark.parametrize(("n", "q"), [(8, 0.5), (40, 0.5), (500, 0.99), (5000, 0.999)])
def test_the_interval_covers_as_often_as_it_says(n: int, q: float) -> None:
    found = interval_ranks(n, q)
    assert found is not None
    low, high, achieved = found
    ordered = np.sort(np.random.default_rng(n).random((3000, n)), axis=1)
    covered = np.mean((ordered[:, low - 1] <= q) & (q <= ordered[:, high - 1]))
    assert covered == pytest.approx(achieved, abs=4 * (0.05 * 0.95 / 3000) ** 0.5)


def test_ten_million_samples_are_no_burden() -> None:
    found = interval_ranks(10_000_000, 0.9999)
    assert found is not None
    assert found[0] < 9_999_000 < found[1]


def test_a_sample_that_does_not_reach_has_no_interval() -> None:
    assert interval_ranks(367, 0.99) is None
    assert interval_ranks(368, 0.99) is not None
    assert interval_ranks(0, 0.5) is None


@pytest.mark.parametrize(("q", "n", "rank"), [(0.5, 10, 5), (0.07, 100, 7), (0.99, 299, 297)])
def test_the_point_is_the_first_with_a_share_q_at_or_below_it(q: float, n: int, rank: int) -> None:
    assert quantile_rank(n, q) == rank


def test_a_median_of_trials_has_the_interval_of_the_sign_test() -> None:
    found = median([5, 3, 9, 1, 7, 11, 13, 15, 17, 19])
    assert (found.n, found.value) == (10, 10)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (3, 17)
    assert found.interval.level == pytest.approx(1 - 22 / 1024)


def test_five_trials_have_a_median_without_interval() -> None:
    assert median([1, 2, 3, 4, 5]).interval is None
    assert quantile_interval([1, 2, 3, 4, 5], 0.5) is None


@pytest.mark.parametrize("values", [[], [1.0, float("nan")]])
def test_no_median_of_nothing(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite values"):
        median(values)


@pytest.mark.parametrize(("q", "level"), [(0, 0.95), (1, 0.95), (0.5, 1)])
def test_a_share_outside_its_range_is_refused(q: float, level: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        smallest_sample(q, level)
