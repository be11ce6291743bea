"""Outcomes: what the manifest calls a quantity, looked up in what a trial measured."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tare.lab.trial import usage
from tare.lab.trial.measure import Measurement
from tare.model.instrument import OF_DUELS, ORDINARY_CPU, Result
from tare.model.outcome import Outcome
from tare.model.paths import Path
from tare.model.role import INSTRUMENT_ROLE, is_instrument


@dataclass(frozen=True)
class Measured:
    """The values of a trial: the instrument's `result`, probes by role, changes of counters."""

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
        value = self._sum(outcome, outcome.paths)
        if value is None:
            return None
        divisor = self._sum(outcome, outcome.divisors) if outcome.divisors else 1.0
        found = value * outcome.times / divisor if divisor else math.nan
        return found if math.isfinite(found) else None

    def _sum(self, outcome: Outcome, paths: Sequence[Path]) -> float | None:
        """A role that this variant does not have adds nothing; without any there is no value."""
        found = [self._lookup(outcome, path) for path in paths if not self._absent(path)]
        values = [value for value in found if value is not None]
        return sum(values) if values and len(values) == len(found) else None

    def _absent(self, path: Path) -> bool:
        return path.source == "role" and path.of in self.declared and path.of not in self.roles

    def _lookup(self, outcome: Outcome, path: Path) -> float | None:
        known = self._known(path)
        if known is None:
            return None
        if path.name not in known:
            raise LookupError(f"outcome {outcome.title!r}: no measured value is called '{path}'")
        found = known[path.name]
        return None if found is None else float(found)

    def _known(self, path: Path) -> Mapping[str, float | None] | None:
        """The table that a path leads into; None of a target that was not loaded."""
        result = self.result
        match path.source:
            case "instrument":
                return dict.fromkeys(OF_DUELS) | result.outcomes
            case "load":
                return result.load.figures() if result.load is not None else {}
            case "error":
                return {**result.errors, "all": result.failed}
            case "target":
                target = result.target(path.of)
                return target.figures() if target is not None else None
            case "role":
                # Only control groups have the CPU time of rounds.
                return {ORDINARY_CPU: None, **self.roles.get(path.of, {})}
            case "counter":
                return self.counters
            case "probe":
                return self.probed
            case "analysis":
                return self.analysis if path.name in self.analysis else None


def of_window(
    found: Measurement,
    declared: Collection[str],
    counters: Mapping[str, int] | None = None,
    analysis: Mapping[str, float | None] | None = None,
) -> Measured:
    """Return the values of a window in which outcomes are looked up; `declared` are the roles that
    the experiment knows.
    """
    return Measured(
        found.result,
        _with_all_generators(usage.roles(found)),
        counters or {},
        usage.probed(found),
        declared,
        analysis or {},
    )


def _with_all_generators(
    roles: Mapping[str, Mapping[str, float]],
) -> dict[str, Mapping[str, float]]:
    """Return what was read of roles, with the sum of several generators as the instrument's."""
    generators = [read for role, read in roles.items() if is_instrument(role)]
    if len(generators) < 2:
        return dict(roles)
    whole = {name: sum(read[name] for read in generators) for name in generators[0]}
    return {**roles, INSTRUMENT_ROLE: whole}
