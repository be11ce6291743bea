"""Dose and response within one trial: how much a response grows with each unit of a dose.

A *round* measures each dose once, in random order and close in time. Only windows of one round are
compared with each other, so that what drifts more slowly than a round cancels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot
from statistics import median

import numpy as np


@dataclass(frozen=True)
class Window:
    """One measurement: the response, in its unit, at a dose, in a round (counted from 0)."""

    round: int
    dose: float
    response: float


def slope(windows: Sequence[Window]) -> float:
    """Return the response's growth per unit of dose.

    It is the median of the slopes of all pairs of windows in a round, each weighted by the distance
    of its doses. Like the unweighted median of Theil and Sen it is robust against a few disturbed
    windows; the weights make it nearly as precise as least squares.
    Raises ValueError when no round has two doses.
    Source: Sievers (1978), JASA 73(363):628-631; Scholz (1978), Ann. Statist. 6(3):603-609.
    """
    return _weighted_median(
        [
            ((last.response - first.response) / (last.dose - first.dose), last.dose - first.dose)
            for first, last in _pairs(windows)
        ]
    )


def intercept(windows: Sequence[Window]) -> float:
    """Return the response without any dose.

    It is the median of the points at which the lines through all pairs of windows in a round meet
    dose 0, each weighted by its precision if noise is proportional to the response, as that of
    times is. Low doses weigh most, so a bend at high doses does not move it. Robust as `slope` is.
    Raises ValueError when no round has two doses.
    """
    found = []
    for first, last in _pairs(windows):
        distance = last.dose - first.dose
        ends = first.response * last.dose, last.response * first.dose
        noise = hypot(*ends)
        # Without any response there is no noise either.
        found.append(((ends[0] - ends[1]) / distance, distance / noise if noise else distance))
    return _weighted_median(found)


def has_pairs(windows: Sequence[Window]) -> bool:
    """Return true if a round has two doses, without which there is neither slope nor intercept."""
    return any(len({each.dose for each in own}) > 1 for own in _rounds(windows))


def bend(windows: Sequence[Window]) -> float | None:
    """By how much the slope at the highest dose exceeds that at the lowest; 0 for a straight line.

    From the parabola that least squares lay through the responses less their round's mean. None
    with fewer than three doses, which lie on a straight line whatever they are.
    """
    doses = {window.dose for window in windows}
    if len(doses) < 3:
        return None
    rows, responses = [], []
    for own in _rounds(windows):
        square = np.array([[window.dose, window.dose**2] for window in own])
        response = np.array([window.response for window in own])
        rows.append(square - square.mean(axis=0))
        responses.append(response - response.mean())
    solution = np.linalg.lstsq(np.concatenate(rows), np.concatenate(responses), rcond=None)[0]
    return float(2 * solution[1] * (max(doses) - min(doses)))


def growth(windows: Sequence[Window]) -> dict[float, float]:
    """Dose → the response beyond that of the round's lowest dose, the median over the rounds."""
    found: dict[float, list[float]] = {}
    for own in _rounds(windows):
        for window in own:
            found.setdefault(window.dose, []).append(window.response - own[0].response)
    return {dose: median(values) for dose, values in sorted(found.items())}


def _pairs(windows: Sequence[Window]) -> Iterator[tuple[Window, Window]]:
    """Any two windows of a round, the lower dose first. Raises ValueError when there are none."""
    some = False
    for own in _rounds(windows):
        for first, last in combinations(own, 2):
            if last.dose > first.dose:
                some = True
                yield first, last
    if not some:
        raise ValueError("a slope needs a round with two doses")


def _weighted_median(found: list[tuple[float, float]]) -> float:
    """Of values with their weights."""
    found = sorted(found)
    half = sum(weight for _, weight in found) / 2
    reached = 0.0
    for index, (value, weight) in enumerate(found):
        reached += weight
        if reached > half:
            return value
        if reached == half:
            return (value + found[index + 1][0]) / 2
    raise AssertionError("the weights reach their half")


def _rounds(windows: Sequence[Window]) -> list[list[Window]]:
    """The windows by round, each in the order of its doses."""
    ordered = sorted(windows, key=lambda window: (window.round, window.dose))
    numbers = dict.fromkeys(window.round for window in ordered)
    return [[window for window in ordered if window.round == number] for number in numbers]
