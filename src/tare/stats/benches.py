"""Benches compared: does the effect, or the machine itself, differ between them?

Blocks are the replicates, and each is made whole on one bench. The effect is taken as a random one:
every bench has its own, about a common mean.

Sources: Searle, Casella & McCulloch (1992), Variance Components, chapter 3, for the one-way layout;
Whitmore (1986), Am. Stat. 40(2):141-143, for the prediction; Welch (1947), Biometrika 34:28-35.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tare.stats.floats import Floats
from tare.stats.interval import Interval

_FEWEST = 2
"""Blocks that a bench must have made to be compared."""
_FEWEST_TO_PREDICT = 3
"""Benches from which on the next one is predicted."""


@dataclass(frozen=True)
class Spread:
    """The log ratios of each bench, and what they say of another one.

    `means`: bench → mean, and its interval by Student's t; `p`: of the F test that all benches have
    the same; `deviation`: standard deviation between benches, without what chance within them adds;
    `next_`: where the mean of one more bench with as many blocks is expected, None with fewer than
    three benches.
    """

    means: dict[str, tuple[float, Interval]]
    p: float
    deviation: float
    next_: Interval | None


@dataclass(frozen=True)
class Level:
    """By how much one bench's values exceed those of all others, as a log ratio."""

    bench: str
    log_ratio: float
    interval: Interval
    p: float


def spread(values: Mapping[str, Floats], level: float = 0.95) -> Spread | None:
    """Return how log ratios, bench → shape (n,), differ between benches; None with fewer than two
    that have at least two.
    """
    groups = {name: each for name, each in values.items() if len(each) >= _FEWEST}
    if len(groups) < 2:
        return None
    sizes = np.array([len(each) for each in groups.values()])
    total, count = int(sizes.sum()), len(groups)
    # Seen from one of them, equal values are 0, and rounding makes no spread of them.
    origin = float(next(iter(groups.values()))[0])
    seen = [each - origin for each in groups.values()]
    means = np.array([each.mean() for each in seen])
    within = sum(float(((each - each.mean()) ** 2).sum()) for each in seen)
    grand = float((sizes * means).sum() / total)
    between = float((sizes * (means - grand) ** 2).sum()) / (count - 1)
    error = within / (total - count)
    size = (total - float((sizes**2).sum()) / total) / (count - 1)
    return Spread(
        {name: _mean(each, level) for name, each in groups.items()},
        _p(between, error, count - 1, total - count),
        math.sqrt(max(0.0, (between - error) / size)),
        _next(origin + means, level),
    )


def _mean(values: Floats, level: float) -> tuple[float, Interval]:
    from scipy.special import stdtrit

    mean, n = float(values.mean()), len(values)
    reach = float(stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(n))
    return mean, Interval(mean - reach, mean + reach, level)


def _p(between: float, within: float, over: int, under: int) -> float:
    from scipy.special import fdtrc

    if within == 0:
        return 0.0 if between > 0 else 1.0
    return float(fdtrc(over, under, between / within))


def _next(means: Floats, level: float) -> Interval | None:
    from scipy.special import stdtrit

    count = len(means)
    if count < _FEWEST_TO_PREDICT:
        return None
    reach = float(stdtrit(count - 1, (1 + level) / 2) * means.std(ddof=1))
    reach *= math.sqrt(1 + 1 / count)
    middle = float(means.mean())
    return Interval(middle - reach, middle + reach, level)


def levels(values: Mapping[str, Floats], level: float = 0.95) -> list[Level]:
    """Return the bench that stands out most among logs of the baseline's values, then the one that
    does so among the rest, until none does at `level`; the last one does not. Nothing with
    fewer than two benches that have at least two values.

    A p-value is corrected for the benches that it was chosen from.
    """
    groups = {name: each for name, each in values.items() if len(each) >= _FEWEST}
    if groups:
        origin = float(next(iter(groups.values()))[0])  # as in `spread`
        groups = {name: each - origin for name, each in groups.items()}
    found: list[Level] = []
    while len(groups) > 1:
        each = [_level(name, groups, level) for name in groups]
        most = min(each, key=lambda one: (one.p, -one.log_ratio))
        # Of two, each stands out from the other.
        choices = len(groups) if len(groups) > 2 else 1
        found.append(replace(most, p=min(1.0, most.p * choices)))
        if found[-1].p > 1 - level:
            break
        del groups[most.bench]
    return found


def _level(name: str, groups: Mapping[str, Floats], level: float) -> Level:
    from scipy.special import stdtr, stdtrit

    own = groups[name]
    others = np.concatenate([each for other, each in groups.items() if other != name])
    difference = float(own.mean() - others.mean())
    parts = [(_variance(each) / len(each), len(each) - 1) for each in (own, others)]
    square = sum(part for part, _ in parts)
    if square == 0:
        p = 0.0 if difference else 1.0
        return Level(name, difference, Interval(difference, difference, level), p)
    freedom = square**2 / sum(part**2 / each for part, each in parts)
    error = math.sqrt(square)
    reach = float(stdtrit(freedom, (1 + level) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(difference) / error))
    return Level(name, difference, Interval(difference - reach, difference + reach, level), p)


def _variance(values: Floats) -> float:
    """Return the variance, which is none of equal values, whatever rounding makes of their mean."""
    return float(values.var(ddof=1)) if np.ptp(values) > 0 else 0.0
