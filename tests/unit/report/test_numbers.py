import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.report.numbers import factor, figure, glued, relative, signed, span

FLOATS = st.floats(-1e9, 1e9, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (8.1234, (8.05, 8.2), "8.12 [8.05, 8.20]"),
        (12345.6, (12000.0, 12700.0), "12 346 [12 000, 12 700]"),
        (8.1234, None, "8.12 [no interval]"),
        (12345.6, None, "12 346 [no interval]"),
        (0.0, None, "0.00 [no interval]"),
        (5.0, (5.0, 5.0), "5 [5, 5]"),
        (-0.001, (-0.2, 0.2), "0.00 [-0.20, 0.20]"),
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
        (-0.123, (-0.15, -0.1), "-0.12 % [-0.15, -0.10]"),
        (90.0, (60.0, 120.0), "1.90 times [1.60, 2.20]"),
        (4.5, (-56.9, 216.5), "1.0 times [0.43, 3.2]"),
        (0.257, (0.098, 159.7), "1.003 times [1.001, 2.6]"),
        (123.4, (100.0, 150.0), "2.23 times [2.00, 2.50]"),
        (99.92, (95.2, 115.3), "2.00 times [1.95, 2.15]"),
        (99.4, (95.0, 103.0), "1.994 times [1.950, 2.030]"),
        (80.0, (1.2, 310.0), "1.8 times [1.01, 4.1]"),
        (-60.0, (-80.0, 20.0), "-60 % [-80, +20]"),
        (-27.0, (-63.0, 1131.0), "0.73 times [0.37, 12]"),
        (2300.0, (510.0, 15300.0), "24 times [6.1, 154]"),
        (-60.0, (-80.0, 150.0), "0.40 times [0.20, 2.5]"),
        (-52.0, None, "a factor of 2.08 [no interval] lower"),
        (624.8, (574.0, 680.0), "7.2 times [6.7, 7.8]"),
        (36499.7, (24921.9, 46907.2), "366 times [250, 470]"),
        (-99.9882, (-99.9904, -99.9857), "a factor of 8 475 [6 993, 10 417] lower"),
        (-83.0, (-84.7, -81.5), "a factor of 5.9 [5.4, 6.5] lower"),
        (1.0, None, "+1.0 % [no interval]"),
        (150.0, None, "2.50 times [no interval]"),
        (0.0, (0.0, 0.0), "exactly equal"),
        (1e-9, (-1.3e-9, 1.3e-9), "equal within 0.01 %"),
        (0.0, (-1.2, 1.3), "0 % [-1.2, +1.3]"),
        (24.0, (0.3, 49.0), "+24 % [+0.3, +49]"),
        (24.0, (-0.3, 49.0), "+24 % [0, +49]"),
        (-0.034, (-0.066, -0.0004), "-0.03 % [-0.07, -0.0004]"),
        (None, None, ""),
    ],
)
def test_percentages(effect: float | None, interval: tuple[float, float] | None, text: str) -> None:
    assert relative(effect, interval) == text


@given(FLOATS, FLOATS, FLOATS)
def test_an_interval_that_is_not_empty_does_not_look_empty(a: float, b: float, c: float) -> None:
    low, middle, high = sorted((a, b, c))
    found = re.fullmatch(r"(\S[^\[]*) \[([^,]+), ([^,]+)\]", figure(middle, (low, high)))
    assert found is not None
    value, lower, upper = (float(part.replace(" ", "")) for part in found.groups())
    assert lower <= value <= upper
    assert lower < upper or high - low < 1e-5


@given(st.floats(1e-9, 1e6), st.floats(1e-9, 1e6), st.floats(1e-9, 1e6))
def test_an_interval_without_zero_shows_no_zero(a: float, b: float, c: float) -> None:
    low, middle, high = sorted((a, b, c))
    for told in (figure(middle, (low, high)), signed(-middle, (-high, -low))):
        found = re.findall(r"[-\d.]+", told.replace(" ", ""))
        assert all(float(each) != 0 for each in found) or low == high, told


@pytest.mark.parametrize(
    ("percent", "text"),
    [(2.34, "+2.3 %"), (65.2, "+65 %"), (190.5, "2.9×"), (-50.0, "÷2"), (-9.4, "-9.4 %")],
)
def test_a_few_characters_for_charts(percent: float, text: str) -> None:
    assert factor(percent) == text
    assert factor(61.0, (-24.0, 254.0)) == "1.6×", "as in the table"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(40, "40 s"), (750, "12 min"), (12600, "3.5 h"), (3456000, "40 days")],
)
def test_durations(seconds: float, text: str) -> None:
    assert span(seconds) == text


@given(st.floats(-99.999, 1e6), st.floats(-99.999, 1e6), st.floats(-99.999, 1e6))
def test_no_change_looks_like_nothing_with_signs(a: float, b: float, c: float) -> None:
    low, middle, high = sorted((a, b, c))
    text = relative(middle, (low, high))
    assert not re.search(r"[+-]0(\.0+)?\b(?!\.)", text), text
    assert "e" not in text.replace("times", "").replace("lower", "") or "equal" in text


def test_a_sentence_keeps_its_figures_whole() -> None:
    text = "a 2.9 to 3.1 times as high, b 12 % [11, 14] lower, about 1 204 more blocks, 3.5 h"
    assert "2.9\u00a0to\u00a03.1\u00a0times as" in glued(text)
    assert "12\u00a0%\u00a0[11,\u00a014] lower" in glued(text)
    assert "1\u00a0204 more" in glued(text) and "3.5\u00a0h" in glued(text)
