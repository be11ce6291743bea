"""Ticks of axes of ratios: percent up to a factor of two, then factors."""

import math
from collections.abc import Sequence

from tare.report.numbers import factor

_PERCENT = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 50)
_FACTORS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_APART = 38
"""Pixels between two ticks."""


def ratio_ticks(low: float, high: float, width: int) -> list[float]:
    """Return ratios between two others, 1 among them, no two too close for their labels."""
    up = [*(1 + percent / 100 for percent in _PERCENT), *_FACTORS]
    down = [*(1 - percent / 100 for percent in _PERCENT[:-1]), *(1 / each for each in _FACTORS)]
    pixel = math.log(high / low) / width
    found: list[float] = []
    for side in (up, down):
        last = 0.0
        for ratio in side:
            at = abs(math.log(ratio))
            if low <= ratio <= high and at - last >= _APART * pixel:
                found.append(ratio)
                last = at
    return sorted([1.0, *found])


def labels(ratios: Sequence[float]) -> str:
    """Return Vega's expression that names each tick."""
    named = " : ".join(
        f"abs(datum.value / {ratio!r} - 1) < 1e-6 ? '{_name(ratio)}'" for ratio in ratios
    )
    return f"{named} : ''"


def _name(ratio: float) -> str:
    if ratio == 1:
        return "0"
    return factor(100 * (ratio - 1)).replace(".0 %", " %")
