"""Intervals of shares, against published ones and against the binomial distribution."""

import pytest
from scipy.stats import binom

from tare.stats.proportion import exact_interval


def test_none_of_many_has_the_rule_of_three() -> None:
    found = exact_interval(0, 300)
    assert found.low == 0 and found.high == pytest.approx(0.0122, abs=1e-4)


@pytest.mark.parametrize(("hits", "cases"), [(1, 20), (7, 44), (15, 300), (20, 20)])
def test_its_ends_leave_a_fortieth_at_each_side(hits: int, cases: int) -> None:
    found = exact_interval(hits, cases)
    assert binom.sf(hits - 1, cases, found.low) == pytest.approx(0.025)
    if hits < cases:
        assert binom.cdf(hits, cases, found.high) == pytest.approx(0.025)
    else:
        assert found.high == 1
