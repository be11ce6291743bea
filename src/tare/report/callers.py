"""Callers of functions, from stacks."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

_NEARLY = 0.8
"""Of a function's samples: what is above it in so many is its caller, whatever else calls it."""
_NEAR = 8
"""Frames above a function that are looked at."""
_MOST = 2
"""Callers of a function; more are not worth a sentence."""


def callers(
    found: Iterable[tuple[Sequence[str], float]], wanted: Collection[str]
) -> Mapping[str, list[str]]:
    """Return, of each function that is wanted, those through which it was called in nearly all of
    its samples, the nearest first. Stacks are functions, the root first, each with its weight.
    """
    total: dict[str, float] = defaultdict(float)
    above: dict[str, dict[str, float]] = {name: defaultdict(float) for name in wanted}
    distances: dict[str, dict[str, float]] = {name: defaultdict(float) for name in wanted}
    for stack, weight in found:
        # Of a function that calls itself, the call that is nearest to the end.
        last = {name: at for at, name in enumerate(stack) if name in above}
        for name, at in last.items():
            total[name] += weight
            near = stack[max(0, at - _NEAR) : at]
            for caller, distance in {each: len(near) - n for n, each in enumerate(near)}.items():
                if caller != name:
                    above[name][caller] += weight
                    distances[name][caller] += weight * distance
    return {
        name: sorted(
            (caller for caller, seen in own.items() if seen >= _NEARLY * total[name]),
            key=lambda caller: distances[name][caller] / own[caller],
        )[:_MOST]
        for name, own in above.items()
    }
