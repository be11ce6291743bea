"""One attempt at a planned trial: what came of it, and its record."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from tare.lab.errors import MachineFault, RoleError, TareError
from tare.lab.project.hooks import OracleError
from tare.lab.trial import fault
from tare.lab.trial.site import Site, blame
from tare.model.profile import Explained
from tare.model.tail import Tails
from tare.model.trial import Gate, PlannedTrial, Trial


@dataclass(frozen=True)
class Done:
    """A finished trial, its histograms, and the files it was run with."""

    trial: Trial
    histograms: dict[str, str]
    rendered: dict[str, str]
    explained: Explained | str | None = None
    """What was seen of processes, of a duel with its variant's side; or why nothing was."""
    tails: Tails | str | None = None
    """Of a duel, likewise."""


@dataclass(frozen=True)
class Attempt:
    """The outcome of an attempt: fields of `Trial`, and histograms."""

    status: Literal["valid", "invalid", "failed", "unavailable"]
    reason: str | None = None
    measured_s: float = 0.0
    gates: list[Gate] = field(default_factory=list)
    outcomes: dict[str, float | None] = field(default_factory=dict)
    roles: dict[str, dict[str, float]] = field(default_factory=dict)
    machine: dict[str, float] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    instrument: dict[str, Any] = field(default_factory=dict)
    histograms: dict[str, str] = field(default_factory=dict)
    machine_fault: bool = False


@dataclass(frozen=True)
class Beginning:
    """A planned trial of which an attempt begins."""

    planned: PlannedTrial
    attempt: int
    started: str
    begun: float

    @classmethod
    def now(cls, planned: PlannedTrial, attempt: int) -> "Beginning":
        """An attempt that begins now."""
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        return cls(planned, attempt, started, time.monotonic())

    @property
    def name(self) -> str:
        """Its name, which no other of the run has."""
        return self.planned.attempt_id(self.attempt)

    def record(self, made: Attempt, version: str) -> Trial:
        """Return the attempt's record, now that it has ended."""
        planned = self.planned
        return Trial(
            id=self.name,
            block=planned.block,
            scenario=planned.scenario,
            label=planned.label,
            variant=planned.variant,
            attempt=self.attempt,
            status=made.status,
            reason=made.reason,
            machine_fault=made.machine_fault,
            started=self.started,
            wall_s=time.monotonic() - self.begun,
            measured_s=made.measured_s,
            version=version,
            gates=made.gates,
            outcomes=made.outcomes,
            roles=made.roles,
            machine=made.machine,
            counters=made.counters,
            instrument=made.instrument,
        )


def refusal(gates: Sequence[Gate]) -> str | None:
    """Return why the gates refuse a trial, or None if they do not."""
    refused = [gate for gate in gates if not gate.ok]
    return "; ".join(f"{each.name}: {each.found}, wanted {each.wanted}" for each in refused) or None


def because(reason: str | None) -> str:
    """Return a reason behind a colon, if there is one."""
    return f": {reason}" if reason else ""


def failure(site: Site | None, error: Exception) -> Attempt:
    """Return the attempt that an error ended: `failed`, or `invalid` by a fault of the machine.

    The reason begins with the end of a role that had ended by then, which caused the error.
    """
    reason, lacks = _told(error), fault.lack(error)
    if site is not None and not isinstance(error, RoleError | MachineFault):
        try:
            blame([site])
        except (RoleError, MachineFault) as earlier:
            reason = f"{earlier}; noticed by {reason}"
            lacks = lacks or fault.lack(earlier)
    return _of_the_machine(lacks, reason) if lacks else Attempt("failed", reason)


def _told(error: Exception) -> str:
    """Return the error's message; one that is not meant for users has its kind before it."""
    if isinstance(error, OracleError):
        return f"oracle: {error}"
    return str(error) if isinstance(error, TareError) else f"{type(error).__name__}: {error}"


def excused(made: Attempt, site: Site | None) -> Attempt:
    """Return the attempt, `invalid` if it failed for what the machine lacks around the site, which
    has been stopped.
    """
    if made.status != "failed" or site is None or made.reason is None:
        return made
    lacks = fault.surroundings(site, made.reason)
    return _of_the_machine(lacks, made.reason) if lacks else made


def _of_the_machine(lacks: str, reason: str) -> Attempt:
    what = reason if lacks in reason else f"{lacks}; {reason}"
    return Attempt("invalid", f"a fault of the machine: {what}", machine_fault=True)
