"""A test that may be looked at after every pair, and stopped at any look, without more errors.

Where there is no effect, a pair's log ratio is as likely above 0 as below, however far from it. So
a bet on its sign, made in knowledge of its distance from 0 and of all pairs before, wins nothing in
the mean: the capital is a nonnegative martingale. Ville's inequality says that it ever grows to 1/α
with a chance of at most α, so that such a capital is evidence at level α whenever it is seen.
Testing every other shift likewise gives a confidence sequence: an interval that holds at all looks
at once.

Sources: Ville (1939), Étude critique de la notion de collectif; de la Peña (1999), Ann. Probab.
27(1):537-564, for sums that are symmetric given the past; Ramdas, Grünwald, Vovk & Shafer (2023),
Statist. Sci. 38(4):576-601, for testing by betting.
"""

from dataclasses import dataclass

import numpy as np

from tare.stats.floats import Floats
from tare.stats.interval import Interval

_LEAST = 0.3
"""Least effect that is bet on, in standard deviations of the pairs."""
_MOST = 0.98
"""Largest share of the capital that one pair can cost."""
_FIRST = float(np.tanh(1.0))
"""Share that is bet on the first two pairs, of whose spread nothing is known."""
LONGER = 1.5
"""Times as many pairs as the signed-rank test needs find an effect about four times in five."""
_GRID = 257
_REFINEMENTS = 3


@dataclass(frozen=True)
class Looked:
    """The findings after n pairs of log ratios, good at all looks together.

    `capital` is the largest that a bet against "no effect" has reached, from 1; `p` its
    anytime-valid p-value; `interval` the confidence sequence, None as long as it has no bounds, and
    where no one effect fits all pairs, which is `changed`.
    """

    n: int
    capital: float
    interval: Interval | None
    changed: bool = False

    @property
    def p(self) -> float:
        """The p-value, valid at every look."""
        return min(1.0, 1 / self.capital)


def look(differences: Floats, level: float = 0.95) -> Looked:
    """Look at the log ratios of n pairs in their order, shape (n,), n ≥ 1."""
    pairs = _Pairs.of(differences)
    capital = float(_capital(pairs, np.zeros(1))[0])
    interval = _interval(pairs, level)
    changed = interval is not None and interval.low == interval.high
    return Looked(differences.size, capital, None if changed else interval, changed)


def fewest_for(alpha: float) -> int:
    """The smallest n whose capital can reach 1 / `alpha` (0 < alpha < 1): of n equal signs."""
    n, capital = 0, 0.5
    while capital < 1 / alpha:
        capital *= 1 + (_FIRST if n < 2 else _MOST)
        n += 1
    return n


@dataclass(frozen=True)
class _Pairs:
    """Pairs in their order, each with the mean and the spread of those before it: shapes (n,).

    Both are 0 for the first two pairs, before which the spread is not known.
    """

    values: Floats
    means: Floats
    spreads: Floats

    @classmethod
    def of(cls, values: Floats) -> "_Pairs":
        means, spreads = np.zeros(values.size), np.zeros(values.size)
        for index in range(2, values.size):
            means[index] = values[:index].mean()
            spreads[index] = max(float(values[:index].std(ddof=1)), 1e-12)
        return cls(values, means, spreads)


def _capital(pairs: _Pairs, shifts: Floats) -> Floats:
    """Return the largest capital so far against each shift, shape (m,) for `shifts` of shape (m,).

    One half is bet on shifts above and one on shifts below, each as much as pays best if pairs are
    normal with the mean and the spread of those before (Kelly's bet).
    """
    distances = pairs.values[:, None] - shifts
    won = np.sign(distances) * np.minimum(_MOST, _bets(pairs, np.abs(distances), shifts))
    above, below = (0.5 * np.cumprod(1 + sign * won, axis=0) for sign in (1, -1))
    return np.asarray(np.maximum(1.0, (above + below).max(axis=0)))


def _bets(pairs: _Pairs, distances: Floats, shifts: Floats) -> Floats:
    """Return the shares of the capital to bet on each pair, its `distances` known: shape (n, m)."""
    bets = np.full(distances.shape, _FIRST)
    spreads = pairs.spreads[2:, None]
    effects = np.maximum(_LEAST, np.abs(pairs.means[2:, None] - shifts) / spreads)
    bets[2:] = np.tanh(effects * distances[2:] / spreads)
    return bets


def _interval(pairs: _Pairs, level: float) -> Interval | None:
    """Return the hull of the shifts against which no bet has ever grown to 1 / (1 - level), and of
    the middle; that alone where each shift was refused at some time.
    """
    limit, middle = 1 / (1 - level), float(np.median(pairs.values))
    reach = max(float(np.abs(pairs.values - middle).max()), 1e-9)
    bounds = [_bound(pairs, middle, sign * 4 * reach, limit) for sign in (-1, 1)]
    if bounds[0] is None or bounds[1] is None:
        return None
    return Interval(bounds[0], bounds[1], level)


def _bound(pairs: _Pairs, middle: float, reach: float, limit: float) -> float | None:
    """Return the farthest shift on one side that is not refused; None if none is refused."""
    shifts = middle + np.linspace(0, reach, _GRID)
    refused = _capital(pairs, shifts) >= limit
    if not refused[-1]:
        return None
    for _ in range(_REFINEMENTS):
        last = int(np.flatnonzero(~refused)[-1]) if not refused.all() else 0
        inner, outer = shifts[last], shifts[min(last + 1, _GRID - 1)]
        shifts = np.linspace(inner, outer, _GRID)
        refused = _capital(pairs, shifts) >= limit
    # Outward: the refused neighbour, so that rounding never narrows the interval.
    return float(shifts[int(np.flatnonzero(refused)[0])])
