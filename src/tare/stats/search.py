"""The highest rate that holds, by bisection on its logarithm."""

import math
from collections.abc import Callable


class OutOfRange(Exception):
    """Every rate of the range held, or none did."""


def highest(
    holds: Callable[[float], bool], low: float, high: float, steps: int, dither: float = 0.5
) -> float:
    """The rate between `low` and `high` below which `holds` is true and above which it is not.

    `steps` halvings leave a bracket of ratio (high / low) ** 2 ** -steps, whose geometric middle is
    returned. `dither`, from 0 to 1, shifts the rates that can be tried by so much of that bracket,
    so that trials with different dithers do not all fall on one grid. An end of the range is tried
    only when every earlier rate pointed to it.

    The rate above the bracket is tried again: if it holds now, it had failed by accident, and the
    search goes on above it, towards the next rate that failed; at most 2 × `steps` rates are tried.
    So an accident at an early step, far from the answer, does not decide.

    Raises OutOfRange, and ValueError for a range that is none.
    """
    if not (0 < low < high and steps >= 1 and 0 <= dither <= 1):
        raise ValueError(f"a search needs 0 < low < high and a step, found {low}, {high}, {steps}")
    width = math.log(high / low) / 2**steps
    bottom = math.log(low) + (dither - 0.5) * width
    top = bottom + width * 2**steps
    below, failed = bottom, [top]
    for _ in range(2 * steps):
        if failed[-1] - below > 1.5 * width:
            rate = (below + failed[-1]) / 2
        elif len(failed) > 1:
            rate = failed[-1]
        else:
            break
        if holds(math.exp(rate)):
            below = rate
            failed = [each for each in failed if each > rate]
        elif rate == failed[-1]:
            break
        else:
            failed.append(rate)
    if below == bottom and not holds(math.exp(bottom)):
        raise OutOfRange(f"not even {math.exp(bottom):.0f} held")
    if failed == [top] and holds(math.exp(top)):
        raise OutOfRange(f"even {math.exp(top):.0f} held")
    return math.exp((below + failed[-1]) / 2)
