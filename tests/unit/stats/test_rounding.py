import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.rounding import change_text, factor_text, reach_text, two_digits


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (0.00123, "0.0012"), (0.8, "0.8"), (0.824, "0.82"), (3.44, "3.4"),
        (9.96, "10"), (24.4, "24"), (99.6, "100"), (216.5, "220"), (11758.9, "12000"),
        (-6.38, "-6.4"), (float("inf"), "inf"),
    ],
)  # fmt: skip
def test_two_digits(value: float, text: str) -> None:
    assert two_digits(value) == text


@given(st.floats(1e-9, 1e12) | st.floats(-1e12, -1e-9))
def test_the_text_is_near_the_value_and_has_no_exponent(value: float) -> None:
    text = two_digits(value)
    assert "e" not in text
    assert float(text) == pytest.approx(value, rel=0.051)


@pytest.mark.parametrize(
    ("percent", "text"),
    [(0.0, "0 %"), (1.3e-9, "less than 0.01 %"), (8.94, "8.9 %"), (220.0, "a factor of 3.2")],
)
def test_a_noise_floor_is_said_as_people_say_it(percent: float, text: str) -> None:
    assert reach_text(percent) == text


@pytest.mark.parametrize(
    ("percent", "text"),
    [(12.3, "12 % higher"), (-9.1, "9.1 % lower"), (220, "a factor of 3.2 higher"),
     (-75, "a factor of 4 lower"), (-40, "40 % lower")],
)  # fmt: skip
def test_changes(percent: float, text: str) -> None:
    assert change_text(percent) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.0, "1"), (1.04, "1.04"), (0.96, "0.96"), (1.0004, "1.0004"), (2.31, "2.3"), (14.2, "14")],
)
def test_a_factor_that_is_not_1_is_not_written_as_1(ratio: float, text: str) -> None:
    assert factor_text(ratio) == text
