from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, wilcoxon

from tare.stats.signed_rank import fewest_for, interval_rank, p_value


def by_enumeration(differences: list[int]) -> float:
    d = np.array(differences)
    ranks = rankdata(np.abs(d))[d != 0]
    observed = ranks[d[d != 0] > 0].sum()
    sums = np.array([np.dot(signs, ranks) for signs in product((0, 1), repeat=ranks.size)])
    tail = min((sums <= observed + 1e-9).mean(), (sums >= observed - 1e-9).mean())
    return min(1.0, 2 * float(tail))


# Few distinct small numbers: nearly every list has ties and zeros.
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_p_with_ties_and_zeros_is_the_count_of_all_sign_assignments(differences: list[int]) -> None:
    assert p_value(np.array(differences, float)) == pytest.approx(by_enumeration(differences))


@pytest.mark.parametrize("n", [1, 2, 5, 6, 8, 13, 30, 50])
def test_p_without_ties_is_scipys_exact_one(n: int) -> None:
    rng = np.random.default_rng(n)
    for shift in (0.0, 0.3, 1.0):
        d = rng.standard_normal(n) + shift
        assert p_value(d) == pytest.approx(wilcoxon(d, method="exact").pvalue, rel=1e-9)


def test_nothing_but_zeros_shows_nothing() -> None:
    assert p_value(np.zeros(9)) == 1.0


def test_p_ignores_which_side_is_which() -> None:
    d = np.array([0.3, -0.1, 0.2, 0.2, 0.0, 0.5, -0.3])
    assert p_value(d) == p_value(-d)


@pytest.mark.parametrize("n", range(6, 61))
def test_the_achieved_confidence_is_at_least_95_and_below_97(n: int) -> None:
    found = interval_rank(n, 0.95)
    assert found is not None
    assert 0.95 <= found[1] < 0.97


# Published critical values of the two-sided test at 5 % (T ≤ critical): the rank is one more.
@pytest.mark.parametrize(
    ("n", "critical"), [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52), (25, 89)]
)
def test_the_rank_follows_the_published_tables(n: int, critical: int) -> None:
    found = interval_rank(n, 0.95)
    assert found is not None
    assert found[0] == critical + 1


@pytest.mark.parametrize("n", range(1, 6))
def test_fewer_than_six_have_no_95_percent_interval(n: int) -> None:
    assert interval_rank(n, 0.95) is None


def test_a_lower_level_needs_fewer() -> None:
    assert interval_rank(5, 0.90) == (1, 1 - 2 / 32)


def test_the_interval_and_the_test_agree() -> None:
    rng = np.random.default_rng(5)
    from tare.stats.effect import effect_of

    for n in (6, 8, 11, 24):
        for d in rng.standard_normal((60, n)) + 0.6:
            effect = effect_of(d)
            assert effect.interval is not None
            assert effect.interval.excludes(0) == (effect.p <= 0.05)


def test_fewest_for() -> None:
    assert [fewest_for(alpha) for alpha in (0.5, 0.05, 0.05 / 6, 0.01)] == [2, 6, 8, 8]
    with pytest.raises(ValueError, match="between 0 and 1"):
        fewest_for(0.0)
