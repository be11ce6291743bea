"""Rounding for text: two significant digits, and never an exponent."""

import math


def two_digits(value: float) -> str:
    """Return `value` with two significant digits as people write it: `0.82`, `3.4`, `24`, `220`."""
    if not value or not math.isfinite(value):
        return f"{value:g}"
    places = 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    text = f"{rounded:.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
