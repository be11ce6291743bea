"""The effect of a variant: the ratio to its baseline within blocks, with an exact interval.

It is the middle (`tare.stats.location`) of the blocks' log ratios.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tare.stats.floats import Floats
from tare.stats.interval import Interval
from tare.stats.location import locate
from tare.stats.modes import Modes, two_modes
from tare.stats.rounding import counted
from tare.stats.sequential import look


@dataclass(frozen=True)
class Effect:
    """The effect of a variant relative to its baseline, on the log scale (0: no effect).

    `log_ratio` is the Hodges-Lehmann estimate, `interval` its exact signed-rank interval or
    `None` (then `missing` says why), `p` the exact two-sided signed-rank p-value before any
    correction (or both as of `effect_so_far`), `spread` the standard deviation of the n log
    ratios (0 for n = 1), `modes` their two modes if they have two.
    """

    n: int
    log_ratio: float
    interval: Interval | None
    missing: str
    p: float
    spread: float
    modes: Modes | None = None

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


def effect_so_far(differences: Floats, level: float = 0.95) -> Effect:
    """The effect from log ratios in their order, shape (n,), n ≥ 1, with an interval and a p-value
    that are good at every look (`tare.stats.sequential`). An estimate outside that interval, which
    is what earlier looks have left, becomes its nearer end.
    """
    found, looked = locate(differences, level), look(differences, level)
    give = "gives" if found.n == 1 else "give"
    missing = "" if looked.interval else f"{counted(found.n, 'pair')} {give} no interval yet"
    if looked.changed:
        missing = "no one effect fits all pairs: it changed in the course of the run"
    estimate, modes = found.estimate, two_modes(differences)
    if looked.interval is not None:
        estimate = min(max(estimate, looked.interval.low), looked.interval.high)
    return Effect(found.n, estimate, looked.interval, missing, looked.p, found.spread, modes)


def effect_of(differences: Floats, level: float = 0.95) -> Effect:
    """The effect from log ratios, shape (n,), n ≥ 1, as `locate` finds their middle."""
    found = locate(differences, level)
    return Effect(
        found.n,
        found.estimate,
        found.interval,
        found.missing,
        found.p,
        found.spread,
        two_modes(differences),
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


def to_percent(log_ratio: float) -> float:
    """A log ratio as a change in percent: ln 1.02 is 2."""
    return 100 * math.expm1(log_ratio)


def from_percent(percent: float) -> float:
    """A change in percent (above -100) as a log ratio."""
    return math.log1p(percent / 100)


def _array(values: Sequence[float]) -> Floats:
    return np.asarray(values, dtype=np.float64)
