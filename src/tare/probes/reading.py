"""Readings of a probe: counters, whose differences count, and gauges, which stand as they are."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Counter:
    """A number that grows: what counts is by how much, from one end of a window to the other."""

    value: float
    of: float | None = None
    """Another number that grows, if this is a share of it."""
    least: float | None = None
    """The least that a difference can be, of a counter that is read in parts."""

    def since(self, earlier: "Counter", scale: float) -> float:
        """Return the difference times `scale`; a share of another counter is not scaled."""
        moved = self.value - earlier.value
        if self.of is None:
            moved *= scale
        else:
            whole = self.of - (earlier.of or 0.0)
            moved = moved / whole if whole else 0.0
        return moved if self.least is None else max(self.least, moved)


@dataclass(frozen=True)
class Gauge:
    """A number that stands as it is read at a window's end."""

    value: float


Reading = Counter | Gauge
_NOTHING = Counter(0.0, 0.0)


def over(
    first: Mapping[str, Reading], last: Mapping[str, Reading], scale: float
) -> dict[str, float]:
    """Return what readings at both ends of a window come to; `scale` is the length of the window
    that is wanted, in lengths of this one. A counter without a first reading began at 0.
    """
    found = {}
    for name, reading in last.items():
        earlier = first.get(name, _NOTHING)
        if isinstance(reading, Gauge):
            found[name] = float(reading.value)
        else:
            found[name] = reading.since(
                earlier if isinstance(earlier, Counter) else _NOTHING, scale
            )
    return found
