"""An interval and the confidence it really has."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A closed confidence interval [`low`, `high`], in the unit of what it bounds.

    `level` is the achieved confidence, which for order statistics is at least the one asked for.
    """

    low: float
    high: float
    level: float

    @property
    def half_width(self) -> float:
        """Half the distance between the ends."""
        return (self.high - self.low) / 2

    def excludes(self, value: float) -> bool:
        """Return true if `value` lies outside."""
        return not self.low <= value <= self.high

    def inside(self, margin: float) -> bool:
        """Return true if the whole interval lies strictly within ±`margin`."""
        return -margin < self.low and self.high < margin
