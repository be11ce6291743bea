"""The protocol of gates: what one looks at, and what it finds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tare.lab.machine.process import Place
from tare.model.gates import KINDS, Gates, Kind
from tare.model.instrument import Result
from tare.stats.rounding import percent


@dataclass(frozen=True)
class Conditions:
    """The conditions of one window."""

    result: Result
    machine: Mapping[str, float]
    """Shares of the test CPUs' time that went to others."""
    roles: Mapping[str, Mapping[str, float]]
    """Role → probe → value."""
    places: Mapping[str, Place]
    """Where each role ran."""
    delay_s: float | None = None
    """By how much the window of the probes may differ from the instrument's, where roles are on
    other hosts; else None.
    """
    sides: Mapping[str, Result] = field(default_factory=dict)
    """In a duel the results of both sides by their names, `result` among them."""


@dataclass(frozen=True)
class Finding:
    """The finding of a gate, in words."""

    ok: bool
    found: str
    wanted: str
    of: str = ""
    """Which of several, if the gate looks at several."""


Look = Callable[[Gates, Conditions], Iterator[Finding]]
"""Judges conditions; it yields nothing where the gate does not apply."""


@dataclass(frozen=True)
class Gate:
    """One condition under which a trial counts."""

    name: str
    """As manifests and trials call it, of `tare.model.gates.KINDS`."""
    look: Look

    @property
    def kind(self) -> Kind:
        """Return its kind: what is to blame when it refuses a trial."""
        return KINDS[self.name]


def most(found: float, limit: float, what: str) -> Finding:
    """Return the finding of a share that may be `limit` at most."""
    return Finding(found <= limit, f"{percent(found, 2)} {what}", f"at most {percent(limit, 2)}")
