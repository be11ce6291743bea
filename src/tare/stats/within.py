"""The share of the variance between duels that is there within one of them already.

The rest is from start to start: where memory lies, who has which CPU, what state a server is in.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tare.stats.floats import Floats
from tare.stats.interval import Interval

FEWEST = 10
"""Degrees of freedom: with fewer the interval says nothing."""


@dataclass(frozen=True)
class Duels:
    """Several duels of the same two: one value for each of them."""

    log_ratios: Floats
    standard_errors: Floats
    """Of the log ratios, by what differs within each duel."""


@dataclass(frozen=True)
class Within:
    """The share, 0 to 1, with its interval."""

    share: float
    interval: Interval


def within(groups: Sequence[Duels], level: float = 0.95) -> Within | None:
    """Return the variance within duels as a share of that of their log ratios, each group about its
    own mean; None for too few duels and for ratios that do not vary.

    The interval is that of the variance of normal values (chi-squared); what is measured within
    duels is taken as known, since each has many rounds.
    """
    freedom = sum(len(each.log_ratios) - 1 for each in groups if len(each.log_ratios) > 1)
    if freedom < FEWEST:
        return None
    squares = sum(((each.log_ratios - each.log_ratios.mean()) ** 2).sum() for each in groups)
    variance = float(squares) / freedom
    if variance <= 0:
        return None
    # Importing scipy costs half a second, which a run of few duels need not pay.
    from scipy.special import chdtri

    errors = np.concatenate([each.standard_errors for each in groups])
    share = float((errors**2).mean()) / variance
    tails = (1 - level) / 2
    low, high = (share * float(chdtri(freedom, above)) / freedom for above in (1 - tails, tails))
    return Within(min(share, 1.0), Interval(min(low, 1.0), min(high, 1.0), level))
