"""Slopes from the trials of one scenario: their intervals, and their differences.

A trial has one slope, and n counts trials, as everywhere. Slopes are compared by their difference
and not by their ratio: none at all is a slope, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from tare.model.outcome import Outcome
from tare.model.scenario import Scenario
from tare.model.trial import Plan, Trial
from tare.stats.blocks import comparable_pairs
from tare.stats.holm import holm
from tare.stats.location import Location, locate
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import two_digits
from tare.stats.slope import Window, bend, growth, intercept
from tare.stats.verdict import Criteria, Direction, Judgement, Verdict

K = TypeVar("K")
ALPHA = Criteria().alpha


@dataclass(frozen=True)
class Slopes:
    """The slopes of one outcome, in its unit."""

    plan: Plan
    scenario: Scenario
    name: str
    trials: Sequence[Trial]
    """Of the scenario; those that do not count are left out here."""

    @property
    def outcome(self) -> Outcome:
        """Return the outcome's definition in the plan."""
        return self.plan.outcomes[self.name]

    @cached_property
    def _valid(self) -> Mapping[str, Mapping[int, Trial]]:
        """Label → block → trial, of those that have a slope."""
        found: dict[str, dict[int, Trial]] = {}
        for trial in self.trials:
            counts = trial.status == "valid" and trial.scenario == self.scenario.name
            if counts and trial.outcomes.get(self.name) is not None:
                found.setdefault(trial.label, {})[trial.block] = trial
        return found

    def labels(self) -> list[str]:
        """List the labels that have a slope, in the plan's order, the A/A control last."""
        return [name for name in [*self.plan.variants, CONTROL] if name in self._valid]

    def of_what(self) -> tuple[str, str]:
        """The parameter that is the dose, and the outcome that responds."""
        trial = next(iter(next(iter(self._valid.values())).values()))
        found = trial.instrument["slope"]
        return found["parameter"], found["outcome"]

    def slope(self, label: str) -> Location:
        """A label's own slope."""
        return locate(np.array(list(self._values(label).values())))

    def bend(self, label: str) -> Location | None:
        """By how much it is steeper at the highest dose than at the lowest, as `slope.bend`."""
        found = [bend(windows(trial)) for trial in self._valid[label].values()]
        known = [value * self.outcome.times for value in found if value is not None]
        return locate(np.array(known)) if known else None

    def intercept(self, label: str) -> Location:
        """The response without any dose, in its own unit, as `slope.intercept`."""
        return locate(np.array(list(self._intercepts(label).values())))

    def intercept_difference(self, label: str, other: str) -> Location | None:
        """By how much that exceeds another's, over the blocks that have both."""
        return _difference(self._intercepts(label), self._intercepts(other))

    def growth(self, label: str) -> dict[float, Location]:
        """Dose → the response beyond that of the lowest dose, in the outcome's unit."""
        by_trial = [growth(windows(trial)) for trial in self._valid[label].values()]
        # A gate may have refused all windows of a dose in one of the trials.
        doses = sorted({dose for each in by_trial for dose in each})
        return {
            dose: locate(
                np.array([each[dose] for each in by_trial if dose in each]) * self.outcome.times
            )
            for dose in doses
        }

    def difference(self, label: str, other: str) -> Location | None:
        """By how much a slope exceeds another's, over the blocks that have both."""
        return _difference(self._values(label), self._values(other))

    def floor(self) -> float | None:
        """Return the noise floor: the far end of the A/A control's interval, without its sign."""
        control = self.difference(CONTROL, self.plan.baseline)
        if control is None or control.interval is None:
            return None
        return max(abs(control.interval.low), abs(control.interval.high))

    def judge(self) -> dict[str, tuple[Location, Judgement]]:
        """Each variant's difference to the baseline, as one family."""
        found = {
            label: difference
            for label in self.plan.variants[1:]
            if (difference := self.difference(label, self.plan.baseline_of(label))) is not None
        }
        return self._family(found)

    def judge_pairs(self) -> dict[tuple[str, str], tuple[Location, Judgement]]:
        """Each variant against each that stands before it in the plan, the baseline apart: a
        family of its own.
        """
        return self._family(
            {
                (label, other): difference
                for other, label in comparable_pairs(self.plan)
                if (difference := self.difference(label, other)) is not None
            }
        )

    def _family(self, found: Mapping[K, Location]) -> dict[K, tuple[Location, Judgement]]:
        adjusted = holm([difference.p for difference in found.values()])
        return {
            key: (difference, self._above_floor(difference, p))
            for (key, difference), p in zip(found.items(), adjusted, strict=True)
        }

    def _above_floor(self, difference: Location, p: float) -> Judgement:
        """Return the verdict of a difference, which must also exceed the noise floor."""
        found, floor = self.verdict(difference, p), self.floor()
        if found.verdict is Verdict.UNRESOLVED:
            return found
        if floor is None:
            return Judgement(Verdict.UNRESOLVED, p, "there is no noise floor")
        if abs(difference.estimate) <= floor:
            why = f"below the noise floor of {two_digits(floor)} {self.outcome.unit}"
            return Judgement(Verdict.UNRESOLVED, p, why)
        return found

    def verdict(self, difference: Location, p: float) -> Judgement:
        """Return the verdict of a difference, given its Holm-adjusted p, without a noise floor."""
        interval = difference.interval
        if interval is None:
            return Judgement(Verdict.UNRESOLVED, p, difference.missing)
        if not interval.excludes(0):
            return Judgement(Verdict.UNRESOLVED, p, "the interval of the difference contains 0")
        if p > ALPHA:
            return Judgement(Verdict.UNRESOLVED, p, f"p {p:.2g} after Holm")
        worse = (difference.estimate > 0) == (Direction(self.outcome.better) is Direction.LOWER)
        return Judgement(Verdict.COSTS if worse else Verdict.SAVES, p, f"p {p:.2g} after Holm")

    def _values(self, label: str) -> dict[int, float]:
        """Block → slope."""
        return {block: self._value(trial) for block, trial in self._valid.get(label, {}).items()}

    def _intercepts(self, label: str) -> dict[int, float]:
        """Block → intercept."""
        own = self._valid.get(label, {})
        return {block: intercept(windows(trial)) for block, trial in own.items()}

    def _value(self, trial: Trial) -> float:
        value = trial.outcomes[self.name]
        assert value is not None
        return value


def _difference(own: Mapping[int, float], base: Mapping[int, float]) -> Location | None:
    blocks = sorted(own.keys() & base.keys())
    if not blocks:
        return None
    return locate(np.array([own[block] - base[block] for block in blocks]))


def windows(trial: Trial) -> list[Window]:
    """The windows of a trial that measured a slope and counted (docs/FORMAT.md,
    `instrument.slope`): neither a gate refused them, nor did they lack the response.
    """
    return [
        Window(note["round"], note["dose"], note["response"])
        for note in trial.instrument["slope"]["windows"]
        if not note["spoilt"] and note["response"] is not None
    ]
