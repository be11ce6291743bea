"""Change points of a series, by energy distances and permutations (E-divisive).

Sources: Matteson & James (2014), JASA 109:334-345, sections 2.3 and 3 (the statistic, the division
of segments one after the other, the test that ends it); Daly and others (2020), ICPE '20, 67-75
(its use on the figures of performance tests).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tare.stats.floats import Floats

_SHORTEST = 2
"""Values of a segment: one alone has no distance to its own kind."""
_PERMUTATIONS = 999
_PER_LEVEL = 5
"""Permutations for each that may be as extreme by chance, at the least."""


@dataclass(frozen=True)
class ChangePoint:
    """A place at which a series changed."""

    at: int
    """Index of the first value after it."""
    p: float
    """The share of random orders of the values with a change at least as large."""


def fewest(level: float) -> int:
    """Return the length of the shortest series in which a change can be found at a level."""
    length = 2 * _SHORTEST
    while 2 / math.comb(length, length // 2) > level:
        length += 1
    return length


def change_points(values: Sequence[float], level: float, seed: int = 0) -> list[ChangePoint]:
    """Return the change points, in order. Each may be found in a series without any with
    probability `level` at most, if its values are exchangeable.
    """
    distances = np.abs(np.subtract.outer(np.asarray(values, float), np.asarray(values, float)))
    generator = np.random.default_rng(seed)
    found: list[ChangePoint] = []
    while True:
        edges = [0, *sorted(point.at for point in found), len(values)]
        segments = [np.arange(low, high) for low, high in pairwise(edges)]
        greatest, at = max(_divided(distances, segment) for segment in segments)
        if greatest <= 0:
            break
        p = _chance(distances, segments, greatest, level, generator)
        if p is None:
            break
        found.append(ChangePoint(at, p))
    return sorted(found, key=lambda point: point.at)


def _chance(
    distances: Floats,
    segments: list[npt.NDArray[np.intp]],
    greatest: float,
    level: float,
    generator: np.random.Generator,
) -> float | None:
    """Return how often a division of shuffled segments is as large; None if beyond the level."""
    total = max(_PERMUTATIONS, math.ceil(_PER_LEVEL / level))
    larger = 1
    # Equal divisions are summed in another order, and may differ in the last digits.
    limit = greatest * (1 - 1e-9)
    for _ in range(total):
        shuffled = [generator.permutation(segment) for segment in segments]
        larger += any(_divided(distances, each)[0] >= limit for each in shuffled)
        if larger > level * (total + 1):
            return None
    return larger / (total + 1)


def _divided(distances: Floats, order: npt.NDArray[np.intp]) -> tuple[float, int]:
    """Return the greatest energy distance between two neighbouring parts of a segment that begins
    with the first, scaled by their lengths, and where the second part begins.
    """
    length = len(order)
    if length < 2 * _SHORTEST:
        return 0.0, 0
    sums = np.zeros((length + 1, length + 1))
    sums[1:, 1:] = distances[np.ix_(order, order)].cumsum(axis=0).cumsum(axis=1)
    within = np.diag(sums)
    begin, end = np.meshgrid(np.arange(length + 1), np.arange(length + 1), indexing="ij")
    first, second = begin.astype(float), (end - begin).astype(float)
    crossed = sums - within[:, np.newaxis]
    inner = within[np.newaxis, :] - 2 * sums + within[:, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        between = 2 * crossed / (first * second)
        spread = within[:, np.newaxis] / (first * (first - 1)) + inner / (second * (second - 1))
        scaled = first * second / (first + second) * (between - spread)
    scaled[(begin < _SHORTEST) | (end - begin < _SHORTEST)] = -np.inf
    best = int(np.argmax(scaled))
    return float(scaled.flat[best]), int(order.min() + best // (length + 1))
