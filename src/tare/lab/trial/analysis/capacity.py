"""The analysis `capacity`: the highest open-loop rate at which an outcome keeps its limit.

One trial is a search: several windows of the instrument against one started site, each at a rate
that the windows before have chosen (docs/METHODOLOGY.md, "Capacity").
"""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tare.lab.errors import ManifestError
from tare.lab.project import render
from tare.lab.trial.measure import Measurement
from tare.lab.trial.site import Site
from tare.model.analysis import Capacity
from tare.model.trial import Gate
from tare.stats.search import OutOfRange, highest

NAME = "capacity_per_second"
_TOO_MUCH = ("errors", "requests", "achieved")
"""Gates that say that the rate was too high."""
_TRIES = 2
"""Windows that must fail before a rate has: one alone may have met a stall of the machine."""
_REPEATS = 12
"""Windows at one rate until one of them counts: cheaper than another search, and long enough to
outlast a burst of foreign load."""

Judge = Callable[[Measurement], list[Gate]]
Window = Callable[[Mapping[str, Any]], Measurement]


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    measurement: Measurement
    """The window of the highest rate that held, else the last one, with the totals of all."""
    measured_s: float
    """Of all its windows."""
    rate: float | None
    gates: list[Gate]
    """Those that close the trial because the search did not end in a rate."""


class _Spoilt(Exception):
    """Windows that say nothing of the variant, as often as they were repeated."""


@dataclass
class _Search:
    """A search as it goes: all its windows, and the best of those that held."""

    window: Window
    judge: Judge
    settings: Capacity
    limit: float
    made: list[Measurement] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    best: tuple[float, Measurement] | None = None

    def holds(self, rate: float) -> bool:
        """Whether one of two windows keeps the limit. Raises _Spoilt."""
        return any(self._held(rate) for _ in range(_TRIES))

    def _held(self, rate: float) -> bool:
        spoilt: list[Gate] = []
        for _ in range(_REPEATS):
            found = self.window({self.settings.parameter: rate})
            closed = [gate for gate in self.judge(found) if not gate.ok]
            value = found.result["outcomes"].get(self.settings.outcome)
            too_much = any(gate.name in _TOO_MUCH for gate in closed)
            held = not too_much and value is not None and value <= self.limit
            # A queue that grows is no steady state, so that Little's law need not hold there.
            spoilt = [g for g in closed if g.name not in _TOO_MUCH and (held or g.name != "little")]
            names = [gate.name for gate in spoilt]
            self.made.append(found)
            self.notes.append({"rate": rate, "value": value, "held": held, "spoilt": names})
            if spoilt:
                continue
            if held and (self.best is None or rate > self.best[0]):
                self.best = rate, found
            return held
        whys = "; ".join(f"{gate.name}: {gate.found}, wanted {gate.wanted}" for gate in spoilt)
        raise _Spoilt(f"at {rate:.0f}/s {whys}")


def search(site: Site, settings: Capacity, window: Window, judge: Judge) -> Found:
    """One trial's search. Raises ManifestError for a range that is none, RoleError as `measure`."""
    where = f"{site.bench.loaded.name}: analysis.capacity"
    low, high, limit = (
        _number(getattr(settings, name), site.parameters, f"{where}.{name}")
        for name in ("low", "high", "limit")
    )
    if not 0 < low < high:
        raise ManifestError(
            f"{where}: found a range from {low:g} to {high:g}, expected 0 < low < high"
        )
    going = _Search(window, judge, settings, limit)
    rate, gates = None, []
    try:
        dither = random.Random(f"{site.seed}/capacity").random()
        rate = highest(going.holds, low, high, settings.steps, dither)
    except (OutOfRange, _Spoilt) as error:
        wanted = f"a rate between {low:g} and {high:g} per second that holds"
        gates = [Gate(name="capacity", ok=False, found=str(error), wanted=wanted)]
    chosen = going.best[1] if going.best else going.made[-1]
    chosen.result["total"] = total(found.result.get("total", {}) for found in going.made)
    chosen.result["capacity"] = {"limit": limit, "rate": rate, "windows": going.notes}
    return Found(chosen, sum(found.window_s for found in going.made), rate, gates)


def _number(template: Any, names: Mapping[str, Any], where: str) -> float:
    found = render.value(template, names, where)
    try:
        return float(found)
    except (TypeError, ValueError) as error:
        raise ManifestError(f"{where}: found {found!r}, expected a number") from error


def total(tables: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Totals of several runs of an instrument as one: numbers and lists add up, tables by name."""
    found: dict[str, Any] = {}
    for table in tables:
        for key, item in table.items():
            if isinstance(item, Mapping):
                found[key] = total([found.get(key, {}), item])
            else:
                found[key] = found[key] + item if key in found else item
    return found
