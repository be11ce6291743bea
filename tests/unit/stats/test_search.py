import math
import random
import statistics
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.search import OutOfRange, highest

LOW, HIGH, STEPS = 1000.0, 100_000.0, 8
STUDIES = 2000


def below(threshold: float, asked: list[float]) -> Callable[[float], bool]:
    def holds(rate: float) -> bool:
        asked.append(rate)
        return rate <= threshold

    return holds


@given(st.floats(1100, 90_000), st.floats(0, 1))
def test_the_threshold_is_found_to_half_a_bracket(threshold: float, dither: float) -> None:
    asked: list[float] = []
    found = highest(below(threshold, asked), LOW, HIGH, STEPS, dither)
    bracket = math.log(HIGH / LOW) / 2**STEPS
    assert abs(math.log(found / threshold)) <= bracket / 2 + 1e-9
    assert STEPS <= len(asked) <= STEPS + 1
    assert len(asked) - len(set(asked)) <= 1, "only the rate above is asked twice"


@pytest.mark.parametrize(("threshold", "message"), [(900, "not even"), (200_000, "even 1")])
def test_a_threshold_beyond_the_range_is_no_number(threshold: float, message: str) -> None:
    with pytest.raises(OutOfRange, match=f"^{message}"):
        highest(below(threshold, []), LOW, HIGH, STEPS)


@pytest.mark.parametrize("edge", [LOW, HIGH])
def test_the_ends_are_asked_before_they_are_believed(edge: float) -> None:
    asked: list[float] = []
    highest(below(edge * (1.005 if edge == LOW else 0.995), asked), LOW, HIGH, STEPS)
    assert any(abs(math.log(rate / edge)) < 0.02 for rate in asked)


@pytest.mark.parametrize(
    ("low", "high", "steps", "dither"),
    [(0, 1, 1, 0.5), (2, 1, 1, 0.5), (1, 1, 1, 0.5), (1, 2, 0, 0.5), (1, 2, 1, 1.5)],
)
def test_a_range_that_is_none_is_refused(
    low: float, high: float, steps: int, dither: float
) -> None:
    with pytest.raises(ValueError, match="a search needs"):
        highest(lambda _: True, low, high, steps, dither)


def test_an_accident_at_the_first_step_does_not_decide() -> None:
    asked: list[float] = []

    def holds(rate: float) -> bool:
        asked.append(rate)
        return len(asked) > 1 and rate <= 50_000

    assert highest(holds, LOW, HIGH, STEPS) == pytest.approx(50_000, rel=0.02)
    assert len(asked) <= 2 * STEPS + 2


@pytest.mark.parametrize(
    ("stalls", "tries", "bias", "spread"),
    [(0.0, 1, (0, 3), 3), (0.0, 2, (1, 4), 3), (0.05, 2, (1, 4), 3), (0.2, 2, (0, 4), 6)],
)
def test_bias_of_a_search_among_stalls(
    stalls: float, tries: int, bias: tuple[float, float], spread: float
) -> None:
    """A window's threshold wavers by 3 %; a stall makes it fail at any rate."""
    draw = random.Random(f"{stalls} {tries}")

    def window(rate: float) -> bool:
        return draw.random() >= stalls and rate <= 20_000 * math.exp(draw.gauss(0, 0.03))

    def holds(rate: float) -> bool:
        return any(window(rate) for _ in range(tries))

    logs = []
    for _ in range(STUDIES):
        found = highest(holds, LOW, HIGH, STEPS, draw.random())
        logs.append(math.log(found / 20_000))
    mean, sd = 100 * math.expm1(statistics.mean(logs)), 100 * statistics.stdev(logs)
    print(f"stalls {stalls:.0%}, {tries} windows a rate: mean {mean:+.1f} %, spread {sd:.1f} %")
    assert bias[0] < mean < bias[1] and sd < spread
