import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.report.numbers import figure, percent

FLOATS = st.floats(-1e9, 1e9, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (8.1234, (8.05, 8.2), "8.12 [8.05, 8.20]"),
        (12345.6, (12000.0, 12700.0), "12 346 [12 000, 12 700]"),
        (8.1234, None, "8.12 [no interval]"),
        (12345.6, None, "12 346 [no interval]"),
        (0.0, None, "0.00 [no interval]"),
        (5.0, (5.0, 5.0), "5.00 [5.00, 5.00]"),
        (None, None, "–"),
        (None, (1.0, 2.0), "–"),
    ],
)
def test_figures(value: float | None, interval: tuple[float, float] | None, text: str) -> None:
    assert figure(value, interval) == text


@pytest.mark.parametrize(
    ("effect", "interval", "text"),
    [
        (1.23, (0.4, 2.1), "+1.2 % [+0.4, +2.1]"),
        (-0.123, (-0.15, -0.1), "-0.123 % [-0.150, -0.100]"),
        (123.4, (100.0, 150.0), "+123.4 % [+100.0, +150.0]"),
        (1.0, None, "+1.0 % [no interval]"),
        (None, None, ""),
    ],
)
def test_percentages(effect: float | None, interval: tuple[float, float] | None, text: str) -> None:
    assert percent(effect, interval) == text


@given(FLOATS, FLOATS, FLOATS)
def test_an_interval_that_is_not_empty_does_not_look_empty(a: float, b: float, c: float) -> None:
    low, middle, high = sorted((a, b, c))
    found = re.fullmatch(r"(\S[^\[]*) \[([^,]+), ([^,]+)\]", figure(middle, (low, high)))
    assert found is not None
    value, lower, upper = (float(part.replace(" ", "")) for part in found.groups())
    assert lower <= value <= upper
    assert lower < upper or high - low < 1e-5
