"""The analysis `compare`: one window, whose outcomes are the trial's."""

from dataclasses import dataclass

from tare.lab.trial.analysis.protocol import About, Found, Judge, Take, Value
from tare.model import analysis


@dataclass(frozen=True)
class Compare:
    """One window, as it is."""

    settings: analysis.Compare

    def run(self, take: Take, judge: Judge, value: Value, about: About) -> Found:
        """Take the window, and judge it."""
        made = take({})
        return Found(made, [made], judge(made))
