"""The analysis `slope`: how much an outcome grows with each unit of a dose.

One trial is a series of windows of the instrument against one started site: in each round every
dose once, in random order (docs/METHODOLOGY.md, "Dose and response").
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tare.lab.trial.analysis import capacity
from tare.lab.trial.measure import Measurement
from tare.lab.trial.site import Site
from tare.model.analysis import Slope
from tare.model.gates import Gates
from tare.model.trial import Gate
from tare.stats.slope import Window, slope

NAME = "slope"
Judge = Callable[[Measurement], list[Gate]]
Take = Callable[[Mapping[str, Any]], Measurement]
Value = Callable[[Measurement, str], float | None]


@dataclass(frozen=True)
class Found:
    """What a trial's windows came to."""

    measurement: Measurement
    """The last window, with the totals of all."""
    measured_s: float
    """Of all windows."""
    slope: float | None
    """In the response's unit for each unit of dose."""
    gates: list[Gate]


def measure(
    site: Site, limits: Gates, settings: Slope, take: Take, judge: Judge, value: Value
) -> Found:
    """One trial's windows. A window that a gate refuses is repeated; one that stays refused closes
    the trial. Raises RoleError as `tare.lab.trial.measure.measure` does.
    """
    order = random.Random(f"{site.seed}/slope")
    made: list[Measurement] = []
    windows: list[Window] = []
    notes: list[dict[str, Any]] = []
    gates: list[Gate] = []
    for number in range(settings.rounds):
        for dose in order.sample(settings.doses, len(settings.doses)):
            for _ in range(limits.retries + 1):
                found = take({settings.parameter: dose})
                made.append(found)
                gates = judge(found)
                spoilt = [gate.name for gate in gates if not gate.ok]
                response = value(found, settings.outcome)
                notes.append(
                    {
                        "round": number,
                        "dose": dose,
                        "response": response,
                        "total": found.result.get("total", {}),
                        "spoilt": spoilt,
                    }
                )
                if response is not None and not spoilt:
                    windows.append(Window(number, dose, response))
                    break
            else:
                return _found(settings, made, notes, None, gates)
    return _found(settings, made, notes, slope(windows), gates)


def _found(
    settings: Slope,
    made: list[Measurement],
    notes: list[dict[str, Any]],
    steepness: float | None,
    gates: list[Gate],
) -> Found:
    last = made[-1]
    last.result["total"] = capacity.total(found.result.get("total", {}) for found in made)
    last.result["slope"] = {
        "parameter": settings.parameter,
        "outcome": settings.outcome,
        "slope": steepness,
        "windows": notes,
    }
    return Found(last, sum(found.window_s for found in made), steepness, gates)
