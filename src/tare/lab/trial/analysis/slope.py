"""The analysis `slope`: how much an outcome grows with each unit of a dose.

One trial is a series of windows of the instrument against one started site: in each round every
dose once, in random order (docs/METHODOLOGY.md, "Dose and response").
"""

import random
from dataclasses import dataclass, field

from pydantic import JsonValue

from tare.lab.errors import ManifestError
from tare.lab.project import render
from tare.lab.trial.analysis.protocol import About, Found, Judge, Take, Value
from tare.lab.trial.measure import Measurement
from tare.model import analysis
from tare.model.trial import Gate
from tare.stats.slope import Window, slope


@dataclass(frozen=True)
class Slope:
    """A series of windows."""

    settings: analysis.Slope

    def run(self, take: Take, judge: Judge, value: Value, about: About) -> Found:
        """Take the windows. One that a gate refuses is repeated; one that stays refused closes the
        trial. Raises ManifestError for doses that do not rise.
        """
        settings, series = self.settings, _Series(self.settings, take, judge, value)
        order, doses = random.Random(f"{about.seed}/slope"), _doses(settings, about)
        for number in range(settings.rounds):
            for dose in order.sample(doses, len(doses)):
                if not any(series.counts(number, dose) for _ in range(about.retries + 1)):
                    return series.found(None)
        return series.found(slope(series.windows))


@dataclass
class _Series:
    """The windows as they are made."""

    settings: analysis.Slope
    take: Take
    judge: Judge
    value: Value
    made: list[Measurement] = field(default_factory=list)
    notes: list[JsonValue] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    """Those that count."""
    gates: list[Gate] = field(default_factory=list)
    """Of the last window."""

    def counts(self, number: int, dose: float) -> bool:
        """Take a window; whether it counts."""
        made = self.take({self.settings.parameter: dose})
        self.gates = self.judge(made)
        spoilt: list[JsonValue] = [gate.name for gate in self.gates if not gate.ok]
        response = self.value(made, self.settings.outcome)
        self.made.append(made)
        self.notes.append(
            {
                "round": number,
                "dose": dose,
                "response": response,
                "total": made.result.total.stored(),
                "spoilt": spoilt,
            }
        )
        if response is None or spoilt:
            return False
        self.windows.append(Window(number, dose, response))
        return True

    def found(self, steepness: float | None) -> Found:
        """Return the slope, in the response's unit for each unit of dose."""
        note: JsonValue = {
            "parameter": self.settings.parameter,
            "outcome": self.settings.outcome,
            "slope": steepness,
            "windows": self.notes,
        }
        values = {self.settings.finds: steepness}
        return Found(self.made[-1], self.made, self.gates, values, {self.settings.kind: note})


def _doses(settings: analysis.Slope, about: About) -> list[int | float]:
    where = f"{about.study}: analysis.doses"
    found = render.value(settings.doses, about.parameters, where)
    try:
        return analysis.ascending(list(found))
    except (TypeError, ValueError) as error:
        raise ManifestError(f"{where}: found {found!r}, expected {error}") from error
