"""Figures in words: as many digits as their interval supports, always with the interval."""

import math
import re
from collections.abc import Callable
from typing import Literal

from tare.stats.rounding import TIMES, factor_text, two_digits

NONE = "–"
"""Where there is no such figure."""
_FALLBACK_DIGITS = 3
_PERCENT_PLACES = 2
_MOST_PLACES = 6
_EQUAL_PERCENT = 0.005
"""What is no larger than this everywhere shows no digit in percent."""
NO_BREAK = "\u00a0"
_UNBREAKABLE = re.compile(
    r"(?<=\d) (?=\d{3}\b|%|times\b|to \d|blocks\b|duels\b|min\b|h\b|s\b|ns\b|µs\b)"
    r"|(?<=factor of) (?=\d)|(?<=to) (?=[-+]?\d)|(?<=,) (?=[-+]?[\d. ]*\d\])|(?<=[\d%]) (?=\[)"
)

Interval = tuple[float, float]
Form = Literal["percent", "times", "lower"]


def figure(value: float | None, interval: Interval | None) -> str:
    """`8.12 [8.05, 8.20]`; a value without an interval says so, no value is a dash."""
    if value is None:
        return NONE
    if interval is None:
        return f"{_round(value, _places(value, None))} [no interval]"
    places = _places(value, interval)
    if interval[0] == interval[1] and value == int(value):
        places = 0
    return _written(value, interval, places, _round)


def signed(value: float, interval: Interval) -> str:
    """Return a difference: `+29 [+24, +34]`."""
    places = _places(value, interval)
    return _written(value, interval, places, _signed)


def short(value: float | None, interval: Interval | None) -> str:
    """`33 148 ±2.1 %`, for tables with many figures."""
    if value is None:
        return NONE
    if interval is None:
        return f"{_round(value, _places(value, None))} ±?"
    half = (interval[1] - interval[0]) / 2
    if not half and value == int(value):
        return f"{_round(value, 0)} ±0"
    reach = f"{two_digits(half / abs(value) * 100)} %" if value else two_digits(half)
    return f"{_round(value, _places(value, interval))} ±{reach}"


def form(percent: float, interval: Interval | None) -> Form:
    """Return the form in which a relative change is told, with all ends of its interval: `times` if
    any of them is a factor of two or more, `lower` if all lie below none and the change is half or
    less; else `percent`, in which nothing then reaches ±100.
    """
    ratios = [1 + end / 100 for end in (percent, *(interval or ()))]
    if max(ratios) >= TIMES and min(ratios) > 0:
        return "times"
    return (
        "lower" if 0 < ratios[0] <= 1 / TIMES and 0 < min(ratios) <= max(ratios) < 1 else "percent"
    )


def relative(percent: float | None, interval: Interval | None) -> str:
    """Return a relative change: `+1.2 % [+0.4, +2.1]`, `7.2 times [6.3, 8.1]` or `a factor of 3.4
    [2.9, 3.9] lower`, as `form` says.
    """
    if percent is None:
        return ""
    ends = (percent, *(interval or ()))
    if not any(ends) and interval is not None:
        return "exactly equal"
    told = form(percent, interval)
    if told != "percent":
        power = -1 if told == "lower" else 1
        value, *bounds = ((1 + end / 100) ** power for end in ends)
        shown = _ratio(value, (min(bounds), max(bounds)) if bounds else None)
        return f"a factor of {shown} lower" if told == "lower" else shown.replace(" [", " times [")
    if interval is None:
        return f"{_signed(percent, 1)} % [no interval]"
    if max(map(abs, ends)) < _EQUAL_PERCENT:
        return f"equal within {2 * _EQUAL_PERCENT} %"
    places = min(_PERCENT_PLACES, _places(percent, interval))
    return _written(percent, interval, places, _signed, " %")


def ends(told: str) -> tuple[str, str]:
    """Return the ends of the interval in a figure with its interval."""
    low, _, high = told.partition("[")[2].partition("]")[0].partition(", ")
    return low, high


def factor(percent: float, interval: Interval | None = None) -> str:
    """Return a relative change in a few characters, for charts: `+12 %`, `7.2×`, `÷3.4`."""
    ratio = 1 + percent / 100
    match form(percent, interval):
        case "times":
            return f"{factor_text(ratio)}×"
        case "lower":
            return f"÷{two_digits(1 / ratio)}"
    return f"{_signed(percent, 0 if abs(percent) >= 9.95 else 1)} %"


def span(seconds: float) -> str:
    """Return a duration as people say it: `40 s`, `12 min`, `3.5 h`, `4 days`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{two_digits(seconds / 3600)} h"
    return f"{seconds / 86400:,.0f} days".replace(",", " ")


def glued(text: str) -> str:
    """Return a sentence in which no line may end within a figure, by no-break spaces."""
    return _UNBREAKABLE.sub(NO_BREAK, text)


def unglued(text: str) -> str:
    """Return the sentence with plain spaces again."""
    return text.replace(NO_BREAK, " ")


def listed(items: list[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"


def _written(
    value: float,
    interval: Interval,
    places: int,
    write: Callable[[float, int], str],
    unit: str = "",
) -> str:
    """Return the value and its interval in words. What has an interval without 0 is never written
    as 0, which would hide its sign.
    """

    def one(number: float) -> str:
        hidden = (interval[0] > 0 or interval[1] < 0) and not float(f"{number:.{places}f}")
        return write(number, -math.floor(math.log10(abs(number))) if hidden else places)

    return f"{one(value)}{unit} [{one(interval[0])}, {one(interval[1])}]"


def _ratio(value: float, interval: Interval | None) -> str:
    """Return a ratio with its interval, each figure with two digits at least. An end that is not 1
    is never written as 1, which would hide on which side it is, nor is a ratio whose interval does
    not contain 1.
    """
    if interval is None:
        return figure(value, None)

    def places_of(number: float) -> int:
        least = 1 - math.floor(math.log10(number)) if number > 0 else 0
        return max(_places(value, interval), min(least, _MOST_PLACES))

    def one(end: float) -> str:
        places = places_of(end)
        while places < _MOST_PLACES and end != 1 and float(f"{end:.{places}f}") == 1:
            places += 1
        return _round(end, places)

    sure = interval[0] > 1 or interval[1] < 1
    shown = one(value) if sure else _round(value, places_of(value))
    return f"{shown} [{', '.join(map(one, interval))}]"


def _places(value: float, interval: Interval | None) -> int:
    """Decimal places so that the interval's width shows two digits."""
    width = interval[1] - interval[0] if interval else 0.0
    if width > 0:
        return max(0, min(_MOST_PLACES, 1 - math.floor(math.log10(width))))
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    return max(0, min(_MOST_PLACES, _FALLBACK_DIGITS - 1 - magnitude))


def _round(value: float, places: int) -> str:
    text = f"{value:,.{places}f}".replace(",", " ")
    return text.removeprefix("-") if not float(f"{value:.{places}f}") else text


def _signed(value: float, places: int) -> str:
    text = f"{value:+,.{places}f}".replace(",", " ")
    return text if float(f"{value:.{places}f}") else "0"
