"""The change of an effect between two runs that were not interleaved."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tare.stats.effect import from_percent, to_percent
from tare.stats.rounding import reach_text, two_digits
from tare.stats.verdict import Direction

Percents = tuple[float, float]

NO_INTERVAL = "a run has no interval"
NO_FLOOR = "a run has no noise floor"
"""The reason why a change that is surely none by chance has no verdict all the same."""


class Trend(StrEnum):
    """The trend of a variant's effect."""

    WORSE = "worse"
    BETTER = "better"
    EQUIVALENT = "equivalent"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True)
class Measured:
    """A variant's effect in one run, in percent of that run's own baseline."""

    effect: float
    interval: Percents | None
    floor: float | None
    """That run's noise floor, in percent."""


@dataclass(frozen=True)
class Change:
    """The ratio of the two effects, in percent, its interval, and what it shows."""

    percent: float
    interval: Percents | None
    trend: Trend
    why: str
    clear: bool
    """Whether the interval excludes 0 and the estimate exceeds both floors, as it may within the
    margin of equivalence, too."""

    def worse_by(self, better: Direction) -> float:
        """By how many percent it surely got worse, 0 unless it did."""
        if not self.clear or self.interval is None:
            return 0.0
        return max(0.0, self.interval[0] if better is Direction.LOWER else -self.interval[1])


def change(before: Measured, after: Measured, better: Direction, margin_percent: float) -> Change:
    """From the effect before to the effect after; both in percent above -100.

    The interval reaches from the difference of the nearest ends to that of the farthest (on the log
    scale). Two independent 95 % intervals both hold at least 90 times in 100, and where their
    widths are alike and their noise is normal the difference lies inside 99 times: it is wide
    rather than narrow. *Worse* or *better* requires an interval without 0 and an estimate beyond
    the noise floor of either run.
    """
    shift = from_percent(after.effect) - from_percent(before.effect)
    percent = to_percent(shift)
    ends = _ends(before.interval, after.interval, from_percent)
    floor = _floor(before.floor, after.floor)
    reach = None if floor is None else from_percent(floor)
    shown = "" if floor is None else reach_text(floor)
    trend, why = _trend(
        shift, ends, better, reach, margin=from_percent(margin_percent), shown=shown,
        within=f"{margin_percent:g} %",
    )  # fmt: skip
    interval = None if ends is None else (to_percent(ends[0]), to_percent(ends[1]))
    return Change(percent, interval, trend, why, _is_clear(shift, ends, reach))


@dataclass(frozen=True)
class MeasuredSlope:
    """A variant's slope in one run, and how far it is from that of the run's own baseline."""

    slope: float
    difference: float
    interval: Percents | None
    """Of the difference, in the slope's unit."""
    floor: float | None
    """That run's noise floor, in the same."""


def change_of_slope(
    before: MeasuredSlope,
    after: MeasuredSlope,
    better: Direction,
    margin_percent: float,
    unit: str,
) -> Change:
    """From the difference before to the difference after, in percent of the variant's own slope
    before; else as `change`. Infinite where that slope was 0.
    """
    ends = _ends(before.interval, after.interval, float)
    floor = _floor(before.floor, after.floor)
    shift, whole = after.difference - before.difference, abs(before.slope)
    trend, why = _trend(
        shift, ends, better, floor, margin=margin_percent / 100 * whole,
        shown="" if floor is None else f"{two_digits(floor)} {unit}",
        within=f"{margin_percent:g} % of the slope before",
    )  # fmt: skip

    def of_whole(value: float) -> float:
        return 100 * value / whole if whole else math.copysign(math.inf, value)

    interval = None if ends is None else (of_whole(ends[0]), of_whole(ends[1]))
    return Change(of_whole(shift), interval, trend, why, _is_clear(shift, ends, floor))


def _ends(
    before: Percents | None, after: Percents | None, scaled: Callable[[float], float]
) -> Percents | None:
    """From the nearest ends of two intervals to the farthest."""
    if before is None or after is None:
        return None
    return scaled(after[0]) - scaled(before[1]), scaled(after[1]) - scaled(before[0])


def _floor(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(before, after)


def _is_clear(shift: float, ends: Percents | None, floor: float | None) -> bool:
    if ends is None or floor is None:
        return False
    return (ends[0] > 0 or ends[1] < 0) and abs(shift) > floor


def _trend(
    shift: float,
    ends: Percents | None,
    better: Direction,
    floor: float | None,
    *,
    margin: float,
    shown: str,
    within: str,
) -> tuple[Trend, str]:
    """Judge a shift by its interval `ends`; `shown` is the floor, and `within` the margin, in
    words.
    """
    if ends is None:
        return Trend.UNRESOLVED, NO_INTERVAL
    low, high = ends
    if -margin < low and high < margin:
        return Trend.EQUIVALENT, f"the interval lies within ±{within}"
    if low <= 0 <= high:
        return Trend.UNRESOLVED, "the interval contains 0"
    if floor is None:
        return Trend.UNRESOLVED, NO_FLOOR
    if abs(shift) <= floor:
        return Trend.UNRESOLVED, f"below the noise floor of {shown}"
    worse = (shift > 0) == (better is Direction.LOWER)
    return Trend.WORSE if worse else Trend.BETTER, f"above the noise floor of {shown}"
