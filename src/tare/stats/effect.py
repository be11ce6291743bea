"""The effect of a variant: the ratio to its baseline within blocks, with an exact interval.

Sources: Hodges & Lehmann (1963), Ann. Math. Statist. 34(2):598-611, for the estimate; Hollander,
Wolfe & Chicken (2014), Nonparametric Statistical Methods, 3rd ed., sections 3.2 and 3.3, for the
estimate and its distribution-free interval. The interval stays valid, if conservative, with ties:
Noether (1967), JASA 62(317):184-188.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tare.stats.interval import Interval
from tare.stats.signed_rank import Floats, fewest_for, interval_rank, p_value


@dataclass(frozen=True)
class Effect:
    """How a variant relates to its baseline, on the log scale (0: no effect).

    `log_ratio` is the Hodges-Lehmann estimate, `interval` its exact signed-rank interval or
    `None` (then `missing` says why), `p` the exact two-sided signed-rank p-value before any
    correction, `spread` the standard deviation of the n log ratios (0 for n = 1).
    """

    n: int
    log_ratio: float
    interval: Interval | None
    missing: str
    p: float
    spread: float

    @property
    def percent(self) -> float:
        """The estimate as a change in percent of the baseline."""
        return to_percent(self.log_ratio)

    @property
    def percent_interval(self) -> tuple[float, float] | None:
        """The interval as changes in percent of the baseline."""
        if self.interval is None:
            return None
        return to_percent(self.interval.low), to_percent(self.interval.high)


def paired_effect(
    variant: Sequence[float], baseline: Sequence[float], level: float = 0.95
) -> Effect:
    """The effect from the blocks' values: `variant[r]` and `baseline[r]` are of block r.

    Errors as of `paired_log_ratios`.
    """
    return effect_of(paired_log_ratios(variant, baseline), level)


def effect_of(differences: Floats, level: float = 0.95) -> Effect:
    """The effect from log ratios, shape (n,), n ≥ 1.

    `level` is the interval's nominal confidence; `Interval.level` is the achieved one, never
    less. With fewer than 6 blocks no 95 % interval exists, and none is made up.
    """
    n = differences.size
    walsh = walsh_averages(differences)
    bounds = interval_rank(n, level)
    interval, missing = None, ""
    if bounds is None:
        fewest = fewest_for(1 - level)
        missing = f"{n} blocks give no {level:.0%} interval: {fewest} are the fewest"
    else:
        k, achieved = bounds
        interval = Interval(float(walsh[k - 1]), float(walsh[-k]), achieved)
    return Effect(
        n=n,
        log_ratio=_middle(walsh),
        interval=interval,
        missing=missing,
        p=p_value(differences),
        spread=float(differences.std(ddof=1)) if n > 1 else 0.0,
    )


def paired_log_ratios(variant: Sequence[float], baseline: Sequence[float]) -> Floats:
    """d_r = ln(variant_r / baseline_r), shape (n,).

    Raises ValueError for no blocks, for lengths that differ, and for a value that is not finite
    and above 0, named by its block (counted from 0).
    """
    if len(variant) != len(baseline) or not len(variant):
        raise ValueError(
            f"a paired effect needs equally many values, at least one of each: "
            f"found {len(variant)} of the variant and {len(baseline)} of the baseline"
        )
    for who, values in (("variant", variant), ("baseline", baseline)):
        for block, value in enumerate(values):
            if not (math.isfinite(value) and value > 0):
                raise ValueError(
                    f"block {block}: the {who}'s value is {value}, "
                    f"and a ratio needs a finite one above 0"
                )
    # Rounding makes equal ratios equal: the last bits of a logarithm would untie them.
    return np.round(np.log(_array(variant)) - np.log(_array(baseline)), 12)


def walsh_averages(differences: Floats) -> Floats:
    """The n(n+1)/2 averages (d_i + d_j)/2 of all pairs i ≤ j, sorted."""
    rows, columns = _pairs(differences.size)
    return np.sort((differences[rows] + differences[columns]) / 2)


def to_percent(log_ratio: float) -> float:
    """A log ratio as a change in percent: ln 1.02 is 2."""
    return 100 * math.expm1(log_ratio)


def from_percent(percent: float) -> float:
    """A change in percent (above -100) as a log ratio."""
    return math.log1p(percent / 100)


def _middle(ordered: Floats) -> float:
    """The median of sorted values."""
    return float(ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2]) / 2


def _array(values: Sequence[float]) -> Floats:
    return np.asarray(values, dtype=np.float64)


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    return np.triu_indices(n)
