"""Intervals for many paired differences at once, by flipping signs.

Sources: Westfall & Young (1993), Resampling-Based Multiple Testing, section 2.3 (the greatest
statistic of all); Winkler and others (2014), NeuroImage 92:381-397 (flips of signs, of all
differences of a pair together).
"""

from dataclasses import dataclass

import numpy as np

from tare.stats.floats import Floats

FEWEST = 6
"""Pairs, of which fewer have too few flips for 95 %."""
_FLIPS = 4000


@dataclass(frozen=True)
class Shift:
    """A mean difference, with an interval that holds for all of its family together."""

    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Return true if the interval excludes 0, or there is no spread around another value."""
        return self.low > 0 or self.high < 0


def shifts(differences: Floats, level: float = 0.95, seed: int = 0) -> list[Shift]:
    """Return the shift of each column of `differences`, shape (pairs, columns).

    All intervals together contain the true means with probability `level`, if each row is
    symmetric about them. Raises ValueError for fewer than `FEWEST` pairs.
    """
    pairs, columns = differences.shape
    if pairs < FEWEST:
        raise ValueError(f"found {pairs} pairs, expected {FEWEST} or more")
    if not columns:
        return []
    mean = differences.mean(axis=0)
    error = differences.std(axis=0, ddof=1) / np.sqrt(pairs)
    reach = _greatest(differences - mean, level, seed) * error
    return [
        Shift(float(at), float(at - by), float(at + by)) for at, by in zip(mean, reach, strict=True)
    ]


def _greatest(centred: Floats, level: float, seed: int) -> float:
    """Return the quantile of the greatest |t| of all columns when signs are flipped by row."""
    pairs = len(centred)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(_FLIPS, pairs))
    means = signs @ centred / pairs
    squares = (centred**2).sum(axis=0)
    variances = (squares - pairs * means**2) / (pairs - 1) / pairs
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(means) / np.sqrt(variances)
    greatest = np.nan_to_num(t, nan=0.0, posinf=np.finfo(float).max).max(axis=1)
    return float(np.quantile(greatest, level, method="higher"))
