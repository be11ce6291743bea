"""The middle of a few values: an estimate that outliers hardly move, and its exact interval.

Sources: Hodges & Lehmann (1963), Ann. Math. Statist. 34(2):598-611, for the estimate; Hollander,
Wolfe & Chicken (2014), Nonparametric Statistical Methods, 3rd ed., sections 3.2 and 3.3, for the
estimate and its distribution-free interval. The interval stays valid, if conservative, with ties:
Noether (1967), JASA 62(317):184-188.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tare.stats.floats import Floats
from tare.stats.interval import Interval
from tare.stats.rounding import counted
from tare.stats.signed_rank import fewest_for, interval_rank, p_value


@dataclass(frozen=True)
class Location:
    """The middle of n values, in their unit.

    `estimate` is that of Hodges and Lehmann, `interval` its exact signed-rank interval or `None`
    (then `missing` says why), `p` the exact two-sided signed-rank p-value against 0 before any
    correction, `spread` the standard deviation of the values (0 for n = 1).
    """

    n: int
    estimate: float
    interval: Interval | None
    missing: str
    p: float
    spread: float


def locate(values: Floats, level: float = 0.95) -> Location:
    """The middle of `values`, shape (n,), n ≥ 1, one a block.

    `level` is the interval's nominal confidence; `Interval.level` is the achieved one, never
    less. With fewer than 6 blocks no 95 % interval exists, and none is made up.
    """
    n = values.size
    walsh = walsh_averages(values)
    bounds = interval_rank(n, level)
    interval, missing = None, ""
    if bounds is None:
        fewest = fewest_for(1 - level)
        give = "gives" if n == 1 else "give"
        missing = f"{counted(n, 'block')} {give} no {100 * level:g} % interval: it takes {fewest}"
    else:
        k, achieved = bounds
        interval = Interval(float(walsh[k - 1]), float(walsh[-k]), achieved)
    return Location(
        n=n,
        estimate=_middle(walsh),
        interval=interval,
        missing=missing,
        p=p_value(values),
        spread=float(values.std(ddof=1)) if n > 1 else 0.0,
    )


def walsh_averages(values: Floats) -> Floats:
    """The n(n+1)/2 averages (x_i + x_j)/2 of all pairs i ≤ j, sorted."""
    rows, columns = _pairs(values.size)
    return np.sort((values[rows] + values[columns]) / 2)


def _middle(ordered: Floats) -> float:
    """The median of sorted values."""
    return float(ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2]) / 2


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    return np.triu_indices(n)
