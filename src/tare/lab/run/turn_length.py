"""The turns of a duel of own servers, which must last longer than an answer takes."""

from tare.model.servers import Load
from tare.model.study import Slices
from tare.stats.rounding import two_digits

_TIMES = {False: 2, True: 10}
"""Turn in times of an answer, by the clock and as fast as servers answer: then an answer counts if
it comes within its turn, and the cut at the end makes an effect too large by half an answer a turn.
"""
_GAP = 0.05
"""Of an answer's time: how long the generator may be away without spoiling a round."""
_ROUNDS = 4
"""Turns of each side in a duel, at least."""


def suited(load: Load, answer_ms: float, *, saturated: bool) -> Load:
    """Return the load with turns for answers that take so long at the median, and with duels that
    hold a few of them.
    """
    short = Slices()
    if answer_ms <= short.length_ms:
        return load
    length_ms = float(two_digits(_TIMES[saturated] * answer_ms))
    shortest_s = float(two_digits(_ROUNDS * 2 * (length_ms + answer_ms) / 1e3))
    slices = Slices(length_ms=length_ms, gap_us=max(short.gap_us, _GAP * answer_ms * 1e3))
    duration_s = max(load.duration_s, shortest_s)
    return load.model_copy(update={"slices": slices, "duration_s": duration_s})
