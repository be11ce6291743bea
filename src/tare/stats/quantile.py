"""Quantiles by order statistics: their intervals, and when a sample is too small to name one.

Sources: David & Nagaraja (2003), Order Statistics, 3rd ed., section 7.1 (the interval between two
order statistics is binomial in the quantile, whatever the distribution); Hyndman & Fan (1996),
Am. Statistician 50(4):361-365, type 1, for the point: the smallest value with at least a share q
of the sample at or below it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tare.stats.interval import Interval


@dataclass(frozen=True)
class Median:
    """The median of n trial-level values with its interval, in the unit of the values.

    `interval` is `None` where n is too small for its confidence (below 6 at 95 %).
    """

    n: int
    value: float
    interval: Interval | None


def median(values: Sequence[float], level: float = 0.95) -> Median:
    """The median of one value per trial. Raises ValueError for none or one that is not finite."""
    if not len(values) or not all(math.isfinite(value) for value in values):
        raise ValueError(f"a median needs finite values, at least one: found {list(values)}")
    return Median(len(values), float(np.median(values)), quantile_interval(values, 0.5, level))


def quantile_interval(samples: Sequence[float], q: float, level: float = 0.95) -> Interval | None:
    """The interval of the q-quantile from independent samples; `None` where n is too small."""
    found = interval_ranks(len(samples), q, level)
    if found is None:
        return None
    low, high, achieved = found
    ordered = np.sort(np.asarray(samples, dtype=np.float64))
    return Interval(float(ordered[low - 1]), float(ordered[high - 1]), achieved)


def smallest_sample(q: float, level: float = 0.95) -> int:
    """The fewest samples from which the q-quantile may be named.

    The rule: with confidence `level` the sample holds a value beyond the quantile, which is when
    the largest of them (for q < 0.5 the smallest) is a one-sided bound: 1 - q^n ≥ level. That is
    299, 2,995 and 29,956 for p99, p99.9 and p99.99 at 95 %. Raises ValueError for q or `level`
    outside (0, 1).
    """
    _check(q, level)
    q = max(q, 1 - q)
    return math.ceil(math.log(1 - level) / math.log(q))


def quantile_rank(n: int, q: float) -> int:
    """The rank (from 1) of the q-quantile's point estimate among n ≥ 1 sorted samples."""
    # 0.07 * 100 is a hair above 7 in floating point, and must not become 8.
    return max(1, math.ceil(round(q * n, 6)))


def interval_ranks(n: int, q: float, level: float = 0.95) -> tuple[int, int, float] | None:
    """The ranks (from 1) that bound the q-quantile, and the confidence they achieve.

    Each end misses with probability at most (1 - `level`)/2, by the binomial distribution.
    `None` where the sample does not reach far enough on a side. Raises ValueError for q or
    `level` outside (0, 1). The samples must be independent: requests of one trial are not quite,
    so an interval over them is a lower bound to the uncertainty of that trial alone.
    """
    _check(q, level)
    if n < 1:
        return None
    first, cumulative = _binomial(n, q)
    miss = (1 - level) / 2
    # P(B ≤ low - 1) ≤ miss for the largest such rank, P(B ≤ high - 1) ≥ 1 - miss for the smallest.
    low = first + int(np.searchsorted(cumulative, miss, "right"))
    high = first + int(np.searchsorted(cumulative, 1 - miss)) + 1
    if low < 1 or high > n:
        return None
    achieved = cumulative[high - 1 - first] - (cumulative[low - 1 - first] if low > first else 0)
    return low, high, float(achieved)


def _binomial(n: int, q: float) -> tuple[int, npt.NDArray[np.float64]]:
    """P(B ≤ k) for k = first, first + 1, … where B ~ Binomial(n, q) has any weight to speak of."""
    reach = 12 * math.sqrt(n * q * (1 - q)) + 60
    first, last = max(0, math.floor(n * q - reach)), min(n, math.ceil(n * q + reach))
    k = np.arange(first, last)
    # From the ratio of neighbours, normalised: no factorial of a million is ever formed.
    log_weight = np.concatenate(
        ([0.0], np.cumsum(np.log((n - k) / (k + 1)) + math.log(q / (1 - q))))
    )
    weight = np.exp(log_weight - log_weight.max())
    return first, np.cumsum(weight / weight.sum())


def _check(q: float, level: float) -> None:
    if not (0 < q < 1 and 0 < level < 1):
        raise ValueError(f"a quantile and its level lie between 0 and 1, found {q} and {level}")
