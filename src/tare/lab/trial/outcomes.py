"""Outcomes: what the manifest calls a quantity, looked up in what a trial measured."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tare.model.analysis import FINDS
from tare.model.instrument import Result
from tare.model.outcome import Outcome


@dataclass(frozen=True)
class Measured:
    """What a trial found: the instrument's `result`, probes by role, counters' moves."""

    result: Result
    roles: Mapping[str, Mapping[str, float]]
    counters: Mapping[str, int]
    probed: Mapping[str, float]
    """What the experiment's own probe saw."""
    declared: Collection[str]
    """The roles that the experiment knows; this variant may have fewer."""
    analysis: Mapping[str, float | None]
    """What an analysis found, where the scenario has one."""

    def outcome(self, outcome: Outcome) -> float | None:
        """Its value; None where it cannot be named. Raises LookupError for an unknown path."""
        value = self._sum(outcome, outcome.value)
        if value is None:
            return None
        divisor = 1.0 if outcome.per is None else self._sum(outcome, outcome.per)
        return value * outcome.times / divisor if divisor else None

    def _sum(self, outcome: Outcome, paths: str) -> float | None:
        """A role that this variant does not have adds nothing; without any there is no value."""
        present = [path for part in paths.split("+") if not self._absent(path := part.strip())]
        found = [self._lookup(outcome, path) for path in present]
        values = [value for value in found if value is not None]
        return sum(values) if values and len(values) == len(found) else None

    def _absent(self, path: str) -> bool:
        match path.split("."):
            case ["role", role, _]:
                return role in self.declared and role not in self.roles
        return False

    def _lookup(self, outcome: Outcome, path: str) -> float | None:
        found: float | None
        load = self.result.load.figures() if self.result.load is not None else {}
        match path.split("."):
            case ["instrument", name] if name in self.result.outcomes:
                found = self.result.outcomes[name]
            case ["load", name] if name in load:
                found = load[name]
            case ["error", "all"]:
                found = self.result.failed
            case ["error", kind] if kind in self.result.errors:
                found = self.result.errors[kind]
            case ["target", name, quantity]:
                found = self._of_target(outcome, name, quantity)
            case ["role", role, probe] if probe in self.roles.get(role, {}):
                found = self.roles[role][probe]
            case ["counter", name] if name in self.counters:
                found = self.counters[name]
            case ["probe", name] if name in self.probed:
                found = self.probed[name]
            case ["analysis", name] if name in FINDS:
                found = self.analysis.get(name)
            case _:
                raise LookupError(f"outcome {outcome.title!r}: nothing measured is called {path!r}")
        return None if found is None else float(found)

    def _of_target(self, outcome: Outcome, name: str, quantity: str) -> float | None:
        """What became of one of the instrument's targets; None if it was not loaded."""
        target = self.result.target(name)
        if target is None:
            return None
        known = target.figures()
        if quantity not in known:
            where = f"target.{name}.{quantity}"
            raise LookupError(f"outcome {outcome.title!r}: nothing measured is called {where!r}")
        return known[quantity]
