"""Outcomes: what the manifest calls a quantity, looked up in what a trial measured."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tare.lab.trial.analysis import capacity, slope
from tare.model.outcome import Outcome

_COUNTS = ("offered", "completed", "unfinished", "answered")
"""Requests of a target, beside its outcomes."""


@dataclass(frozen=True)
class Measured:
    """What a trial found: the instrument's `result`, probes by role, counters' moves."""

    result: Mapping[str, Any]
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
        found: Any
        errors = self.result.get("errors", {})
        match path.split("."):
            case ["instrument", name] if name in self.result["outcomes"]:
                found = self.result["outcomes"][name]
            case ["load", name] if name in self.result.get("load", {}):
                found = self.result["load"][name]
            case ["error", "all"]:
                found = sum(errors.values())
            case ["error", kind] if kind in errors:
                found = errors[kind]
            case ["target", name, quantity]:
                found = self._of_target(outcome, name, quantity)
            case ["role", role, probe] if probe in self.roles.get(role, {}):
                found = self.roles[role][probe]
            case ["counter", name] if name in self.counters:
                found = self.counters[name]
            case ["probe", name] if name in self.probed:
                found = self.probed[name]
            case ["analysis", (capacity.NAME | slope.NAME) as name]:
                found = self.analysis.get(name)
            case _:
                raise LookupError(f"outcome {outcome.title!r}: nothing measured is called {path!r}")
        return None if found is None else float(found)

    def _of_target(self, outcome: Outcome, name: str, quantity: str) -> Any:
        """What became of one of the instrument's targets; None if it was not loaded."""
        target = next(
            (each for each in self.result.get("targets", ()) if each["name"] == name), None
        )
        if target is None:
            return None
        known = target["outcomes"] | {key: target[key] for key in _COUNTS}
        if quantity not in known:
            where = f"target.{name}.{quantity}"
            raise LookupError(f"outcome {outcome.title!r}: nothing measured is called {where!r}")
        return known[quantity]
