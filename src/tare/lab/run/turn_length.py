"""The turns of a duel of own servers, which must last longer than an answer takes."""

from tare.model.servers import Load
from tare.model.study import Slices
from tare.stats.rounding import two_digits

_CLOCKED, _SATURATED = 2, 10
"""Turn in times of an answer: by the clock, and as fast as servers answer. There a turn begins
with a request on every connection at once and ends with the last answer, unlike what is between.
"""
_GAP = 0.025
"""Of a turn: how long the generator may be away without spoiling a round."""
_ROUNDS = 4
"""Turns of each side in a duel, at least, where answers take no longer than in the first look."""


def suited(load: Load, answer_ms: float, *, saturated: bool) -> Load:
    """Return the load with turns for answers that take so long at the median, and with duels that
    hold a few of them.
    """
    short = Slices()
    if saturated:
        length_ms = max(short.length_ms, _SATURATED * answer_ms)
    else:
        length_ms = _CLOCKED * answer_ms if answer_ms > short.length_ms else short.length_ms
    length_ms = float(two_digits(length_ms))
    # At both ends of the window a part of a round is left over.
    shortest_s = float(two_digits((_ROUNDS + 1) * 2 * (length_ms + answer_ms) / 1e3))
    slices = Slices(length_ms=length_ms, gap_us=max(short.gap_us, _GAP * length_ms * 1e3))
    duration_s = max(load.duration_s, shortest_s)
    return load.model_copy(update={"slices": slices, "duration_s": duration_s})
