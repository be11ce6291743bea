import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.change import Measured, Trend, change
from tare.stats.verdict import Direction

LOWER, HIGHER = Direction.LOWER, Direction.HIGHER


def measured(effect: float, half: float = 1.0, floor: float | None = 1.0) -> Measured:
    return Measured(effect, (effect - half, effect + half), floor)


@pytest.mark.parametrize(
    ("before", "after", "better", "trend"),
    [
        (measured(10), measured(20), LOWER, Trend.WORSE),
        (measured(10), measured(20), HIGHER, Trend.BETTER),
        (measured(20), measured(10), LOWER, Trend.BETTER),
        (measured(-20), measured(-30), HIGHER, Trend.WORSE),
        (measured(10, 0.5), measured(10.2, 0.5), LOWER, Trend.EQUIVALENT),
        (measured(10), measured(11), LOWER, Trend.UNRESOLVED),
        (measured(10), measured(14, floor=5), LOWER, Trend.UNRESOLVED),
        (measured(10, floor=5), measured(14), LOWER, Trend.UNRESOLVED),
        (measured(10, floor=None), measured(20), LOWER, Trend.UNRESOLVED),
        (Measured(10, None, 1), measured(20), LOWER, Trend.UNRESOLVED),
    ],
)
def test_a_trend_needs_an_interval_without_zero_above_both_floors(
    before: Measured, after: Measured, better: Direction, trend: Trend
) -> None:
    assert change(before, after, better, 2.0).trend is trend


def test_a_run_without_an_interval_need_not_have_too_few_blocks() -> None:
    assert change(Measured(10, None, 1), measured(20), LOWER, 2.0).why == "a run has no interval"


def test_a_change_is_the_ratio_of_the_ratios() -> None:
    found = change(measured(10), measured(21), LOWER, 2.0)
    assert found.percent == pytest.approx(10)
    assert found.interval == pytest.approx((100 * (1.20 / 1.11 - 1), 100 * (1.22 / 1.09 - 1)))
    assert found.worse_by(LOWER) == pytest.approx(100 * (1.20 / 1.11 - 1))
    assert change(measured(21), measured(10), LOWER, 2.0).worse_by(LOWER) == 0


def test_what_surely_got_worse_within_the_margin_is_told() -> None:
    before, after = measured(10, 0.3, 0.1), measured(11, 0.3, 0.1)
    found = change(before, after, LOWER, 2.0)
    assert found.trend is Trend.EQUIVALENT
    assert found.worse_by(LOWER) == pytest.approx(100 * (1.107 / 1.103 - 1))
    assert found.worse_by(HIGHER) == 0, "that is better"
    assert change(before, measured(11, 0.3, 1.0), LOWER, 2.0).worse_by(LOWER) == 0, "mere noise"
    assert change(before, measured(10, 0.3, 0.1), LOWER, 2.0).worse_by(LOWER) == 0


EFFECTS = st.floats(-50, 200)


@given(EFFECTS, EFFECTS, st.floats(0.01, 20), st.floats(0.01, 20))
def test_swapping_runs_or_directions_swaps_worse_and_better(
    one: float, other: float, half: float, floor: float
) -> None:
    before, after = measured(one, half, floor), measured(other, half, floor)
    swapped = {Trend.WORSE: Trend.BETTER, Trend.BETTER: Trend.WORSE}
    found = change(before, after, LOWER, 2.0)
    mirrored = change(before, after, HIGHER, 2.0)
    assert mirrored.trend is swapped.get(found.trend, found.trend)
    assert found.interval is not None and found.interval[0] <= found.percent <= found.interval[1]
    if abs(found.percent) > 1e-9:
        back = change(after, before, LOWER, 2.0)
        assert back.trend is swapped.get(found.trend, found.trend)
