"""Change points: found where they are, and seldom where there are none."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.stats.change_points import change_points, fewest

LEVEL = 0.05


@pytest.mark.parametrize("length", [fewest(LEVEL), 12, 20])
def test_series_without_a_change_seldom_have_one(length: int) -> None:
    rng = np.random.default_rng(length)
    series = [rng.normal(size=length).tolist() for _ in range(100)]
    wrong = sum(bool(change_points(each, LEVEL)) for each in series)
    assert wrong <= 10, "of 100; the binomial's 99th percentile at 5 % is 11"


def test_several_changes_are_found_where_they_are() -> None:
    rng = np.random.default_rng(1)
    levels = np.repeat([0.0, 5.0, 1.0], [9, 8, 10])
    found = change_points((levels + rng.normal(size=27)).tolist(), LEVEL)
    assert [point.at for point in found] == [9, 17]
    assert all(point.p <= LEVEL for point in found)


def test_one_odd_run_is_no_change() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=14)
    values[6] += 8.0
    assert change_points(values.tolist(), LEVEL) == []


def test_a_change_that_chance_could_make_is_none() -> None:
    short = [0.0, 0.1, 0.2, 5.0, 5.1, 5.2]
    assert len(short) < fewest(LEVEL) and change_points(short, LEVEL) == []
    assert [point.at for point in change_points([*short[:3], 0.3, *short[3:], 5.3], LEVEL)] == [4]


@settings(max_examples=30)
@given(st.floats(0.001, 1000), st.floats(-1000, 1000))
def test_neither_unit_nor_origin_matters(unit: float, origin: float) -> None:
    values = [0.1, 0.4, 0.2, 0.3, 0.2, 2.1, 2.4, 2.2, 2.3, 2.2]
    scaled = [origin + unit * value for value in values]
    assert [point.at for point in change_points(scaled, LEVEL)] == [5]


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 12])
def test_what_does_not_vary_does_not_change(values: list[float]) -> None:
    assert change_points(values, LEVEL) == []


@given(st.floats(1e-4, 0.2))
def test_the_fewest_are_those_whose_orders_are_enough(level: float) -> None:
    length = fewest(level)
    assert 2 / math.comb(length, length // 2) <= level
    assert length == 4 or 2 / math.comb(length - 1, (length - 1) // 2) > level
