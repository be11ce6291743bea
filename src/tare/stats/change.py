"""The change of an effect between two runs that were not interleaved."""

from dataclasses import dataclass
from enum import StrEnum

from tare.stats.effect import from_percent, to_percent
from tare.stats.rounding import reach_text
from tare.stats.verdict import Direction

Percents = tuple[float, float]


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

    def worse_by(self, better: Direction) -> float:
        """By how many percent it surely got worse, 0 unless it did."""
        if self.trend is not Trend.WORSE or self.interval is None:
            return 0.0
        return self.interval[0] if better is Direction.LOWER else -self.interval[1]


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
    if before.interval is None or after.interval is None:
        return Change(percent, None, Trend.UNRESOLVED, "a run has too few blocks for an interval")
    low = from_percent(after.interval[0]) - from_percent(before.interval[1])
    high = from_percent(after.interval[1]) - from_percent(before.interval[0])
    interval = to_percent(low), to_percent(high)
    margin = from_percent(margin_percent)
    if -margin < low and high < margin:
        why = f"the interval lies within ±{margin_percent:g} %"
        return Change(percent, interval, Trend.EQUIVALENT, why)
    if low <= 0 <= high:
        return Change(percent, interval, Trend.UNRESOLVED, "the interval contains 0")
    if before.floor is None or after.floor is None:
        return Change(percent, interval, Trend.UNRESOLVED, "a run has no noise floor")
    floor = max(before.floor, after.floor)
    if abs(shift) <= from_percent(floor):
        why = f"below the noise floor of {reach_text(floor)}"
        return Change(percent, interval, Trend.UNRESOLVED, why)
    worse = (shift > 0) == (better is Direction.LOWER)
    why = f"above the noise floor of {reach_text(floor)}"
    return Change(percent, interval, Trend.WORSE if worse else Trend.BETTER, why)
