"""The analysis `capacity`: the highest open-loop rate at which an outcome keeps its limit.

One trial is a search: several windows of the instrument against one started site, each at a rate
that the windows before have chosen (docs/METHODOLOGY.md, "Capacity").
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from tare.lab.errors import ManifestError
from tare.lab.project import render
from tare.lab.trial.analysis.protocol import About, Found, Judge, Take, Value
from tare.lab.trial.measure import Measurement
from tare.model import analysis
from tare.model.trial import RANGE, Gate
from tare.stats.search import OutOfRange, highest

_TRIES = 2
"""Windows that must fail before a rate has: one alone may have met a stall of the machine."""
_REPEATS = 12
"""Windows at one rate until one of them counts: cheaper than another search, and long enough to
outlast a burst of foreign load."""


@dataclass(frozen=True)
class Capacity:
    """A search."""

    settings: analysis.Capacity

    def run(self, take: Take, judge: Judge, value: Value, about: About) -> Found:
        """Search one trial's rate. Raises ManifestError for a range that is none."""
        settings, where = self.settings, f"{about.study}: analysis"
        low, high, limit = (
            _number(getattr(settings, name), about.parameters, f"{where}.{name}")
            for name in ("low", "high", "limit")
        )
        if not 0 < low < high:
            raise ManifestError(
                f"{where}: found a range from {low:g} to {high:g}, expected 0 < low < high"
            )
        going = _Search(take, judge, settings, limit)
        rate, failed = None, None
        try:
            dither = random.Random(f"{about.seed}/capacity").random()
            rate = highest(going.holds, low, high, settings.steps, dither)
        except (OutOfRange, _Spoilt) as error:
            wanted = f"a rate between {low:g} and {high:g} per second that holds"
            name = RANGE if isinstance(error, OutOfRange) else settings.kind
            failed = Gate(name=name, kind="analysis", ok=False, found=str(error), wanted=wanted)
        best = going.best or going.last
        note: JsonValue = {"limit": limit, "rate": rate, "windows": going.notes}
        return Found(
            best.made,
            going.made,
            [failed] if failed else best.gates,
            {settings.finds: rate},
            {settings.kind: note},
        )


class _Spoilt(Exception):
    """The reason why no window at a rate counted, of all that were repeated."""


@dataclass(frozen=True)
class _Window:
    """A window at a rate."""

    rate: float
    made: Measurement
    gates: list[Gate]


@dataclass
class _Search:
    """A search as it goes: all its windows, and the best of those that held."""

    take: Take
    judge: Judge
    settings: analysis.Capacity
    limit: float
    windows: list[_Window] = field(default_factory=list)
    notes: list[JsonValue] = field(default_factory=list)
    best: _Window | None = None

    @property
    def made(self) -> list[Measurement]:
        """All measurements."""
        return [window.made for window in self.windows]

    @property
    def last(self) -> _Window:
        """The window that was made last."""
        return self.windows[-1]

    def holds(self, rate: float) -> bool:
        """Return true if one of two windows keeps the limit. Raises _Spoilt."""
        return any(self._held(rate) for _ in range(_TRIES))

    def _held(self, rate: float) -> bool:
        lacks: list[str] = []
        for _ in range(_REPEATS):
            made = self.take({self.settings.parameter: rate})
            window = _Window(rate, made, self.judge(made))
            closed = [gate for gate in window.gates if not gate.ok]
            value = made.result.outcomes.get(self.settings.outcome)
            too_much = any(gate.kind == "load" for gate in closed)
            held = not too_much and value is not None and value <= self.limit
            # A queue that grows is no steady state.
            excused = ("load",) if held else ("load", "steady-state")
            spoilt = [gate for gate in closed if gate.kind not in excused]
            names: list[JsonValue] = [gate.name for gate in spoilt]
            self.windows.append(window)
            self.notes.append({"rate": rate, "value": value, "held": held, "spoilt": names})
            lacks = [f"{gate.name}: {gate.found}, wanted {gate.wanted}" for gate in spoilt]
            if value is None and not too_much:
                lacks.append(f"too few requests to name {self.settings.outcome}")
            if lacks:
                continue
            if held and (self.best is None or rate > self.best.rate):
                self.best = window
            return held
        raise _Spoilt(f"at {rate:.0f}/s {'; '.join(lacks)}")


def _number(template: Any, names: Mapping[str, Any], where: str) -> float:
    found = render.value(template, names, where)
    try:
        return float(found)
    except (TypeError, ValueError) as error:
        raise ManifestError(f"{where}: found {found!r}, expected a number") from error
