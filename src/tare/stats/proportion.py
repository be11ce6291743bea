"""The interval of a share, exact for any number of cases.

Source: Clopper & Pearson (1934), Biometrika 26(4):404-413.
"""

from tare.stats.interval import Interval


def exact_interval(hits: int, cases: int, level: float = 0.95) -> Interval:
    """Return the interval of the share of which `hits` of `cases` (at least 1) are a sample."""
    from scipy.stats import binomtest  # takes a second to import

    found = binomtest(hits, cases).proportion_ci(level, "exact")
    return Interval(float(found.low), float(found.high), level)
