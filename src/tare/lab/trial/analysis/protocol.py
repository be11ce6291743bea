"""The input and the output of an analysis."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import JsonValue

from tare.lab.trial.measure import Measurement
from tare.model.trial import Gate

Take = Callable[[Mapping[str, Any]], Measurement]
"""Measures one window, with the parameters given over those of the trial. Raises RoleError."""
Judge = Callable[[Measurement], list[Gate]]
"""Every gate that applies to a window."""
Value = Callable[[Measurement, str], float | None]
"""An outcome of a window, by its name."""


@dataclass(frozen=True)
class About:
    """The trial that the windows are of."""

    study: str
    """EXPERIMENT/STUDY, for messages."""
    seed: int
    parameters: Mapping[str, Any]
    retries: int
    """How often a window that a gate refuses may be repeated."""


@dataclass(frozen=True)
class Found:
    """The result of an analysis."""

    measurement: Measurement
    """The window whose outcomes are the trial's."""
    windows: Sequence[Measurement]
    """All windows, in order."""
    gates: list[Gate]
    """Those that decide whether the trial counts."""
    values: Mapping[str, float | None] = field(default_factory=dict)
    """What the analysis finds beside the window's outcomes, for paths `analysis.NAME`."""
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    """What trials.jsonl keeps beside the instrument's result (docs/FORMAT.md)."""

    @property
    def measured_s(self) -> float:
        """Seconds of all windows."""
        return sum(window.window_s for window in self.windows)


class Analysis(Protocol):
    """A way from windows to outcomes; it changes none of what it is given."""

    def run(self, take: Take, judge: Judge, value: Value, about: About) -> Found:
        """Take the windows of one trial. Raises ManifestError, and what `take` raises."""
