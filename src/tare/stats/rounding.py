"""Numbers for text: two significant digits and never an exponent, and counts."""

import math

_LEAST_PERCENT = 0.01
_MOST_PLACES = 6
TIMES = 1.995
"""From this factor on, a change is told as a factor and not in percent: two digits would be 100."""


def two_digits(value: float) -> str:
    """Return `value` with two significant digits as people write it: `0.82`, `3.4`, `24`, `220`."""
    if not value or not math.isfinite(value):
        return f"{value:g}"
    places = 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    text = f"{rounded:.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def factor_text(ratio: float) -> str:
    """Return a factor with two significant digits, or with as many as show that it is not 1."""
    text, places = two_digits(ratio), 1
    while text == "1" and ratio != 1 and places < _MOST_PLACES:
        places += 1
        text = f"{ratio:.{places}f}".rstrip("0").rstrip(".")
    return text


def reach_text(percent: float) -> str:
    """Return a percentage that is not negative, such as a noise floor, as people say it: `8.9 %`,
    `less than 0.01 %`, `a factor of 3.2`.
    """
    if 0 < percent < _LEAST_PERCENT:
        return f"less than {_LEAST_PERCENT} %"
    if (ratio := 1 + percent / 100) >= TIMES:
        return f"a factor of {two_digits(ratio)}"
    return f"{two_digits(percent)} %"


def percent(share: float, places: int = 0) -> str:
    """Return a share of one as percent: `95.6 %`."""
    return f"{100 * share:.{places}f} %"


def change_text(percent: float) -> str:
    """Return a change in words: `12 % lower`, `a factor of 3.2 higher`."""
    ratio = 1 + percent / 100
    if 0 < ratio <= 1 / TIMES:
        return f"a factor of {two_digits(1 / ratio)} lower"
    return f"{reach_text(abs(percent))} {'higher' if percent > 0 else 'lower'}"


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: `1 block`, `2 blocks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
