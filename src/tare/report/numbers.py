"""Figures in words: as many digits as their interval supports, always with the interval."""

import math

from tare.stats.rounding import two_digits

NONE = "–"
"""Where there is no such figure."""
_FALLBACK_DIGITS = 3


def figure(value: float | None, interval: tuple[float, float] | None) -> str:
    """`8.12 [8.05, 8.20]`; a value without an interval says so, no value is a dash."""
    if value is None:
        return NONE
    if interval is None:
        return f"{_round(value, _places(value, None))} [no interval]"
    places = _places(value, interval)
    low, high = (_round(bound, places) for bound in interval)
    return f"{_round(value, places)} [{low}, {high}]"


def short(value: float | None, interval: tuple[float, float] | None) -> str:
    """`33 148 ±2.1 %`, for tables with many figures."""
    if value is None:
        return NONE
    if interval is None:
        return f"{_round(value, _places(value, None))} ±?"
    half = (interval[1] - interval[0]) / 2
    reach = f"{two_digits(half / abs(value) * 100)} %" if value else two_digits(half)
    return f"{_round(value, _places(value, interval))} ±{reach}"


def percent(effect: float | None, interval: tuple[float, float] | None) -> str:
    """`+1.2 % [+0.4, +2.1]`."""
    if effect is None:
        return ""
    if interval is None:
        return f"{effect:+.1f} % [no interval]"
    places = max(1, _places(effect, interval))
    low, high = (f"{bound:+.{places}f}" for bound in interval)
    return f"{effect:+.{places}f} % [{low}, {high}]"


def _places(value: float, interval: tuple[float, float] | None) -> int:
    """Decimal places so that the interval's width shows two digits."""
    width = interval[1] - interval[0] if interval else 0.0
    if width > 0:
        return max(0, min(6, 1 - math.floor(math.log10(width))))
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    return max(0, min(6, _FALLBACK_DIGITS - 1 - magnitude))


def _round(value: float, places: int) -> str:
    return f"{value:,.{places}f}".replace(",", " ")
