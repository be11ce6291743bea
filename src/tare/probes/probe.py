"""Probes: what each is given to look at, and what it gives back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tare.probes.cpu import CpuTime
from tare.probes.reading import Reading
from tare.probes.throttling import Throttling


class Limits(Protocol):
    """The most that a role may have; None without a limit."""

    @property
    def cpus(self) -> float | None:
        """CPU seconds a second."""

    @property
    def memory_bytes(self) -> int | None:
        """Swap included."""

    @property
    def read_bytes_per_s(self) -> int | None:
        """From its disk."""


class Place(Protocol):
    """The place where a role runs."""

    @property
    def cpus(self) -> Sequence[int]:
        """The CPUs on which it may run."""

    @property
    def caps(self) -> Limits:
        """Its limits, as imposed."""


class Role(Protocol):
    """The processes of a role."""

    @property
    def place(self) -> Place:
        """Return the place where they run."""

    def pids(self) -> list[int]:
        """Those that live."""

    def cpu_time(self) -> CpuTime:
        """CPU time so far."""

    def throttling(self) -> Throttling:
        """Return the effects of their limits so far."""


@dataclass(frozen=True)
class Scene:
    """The subjects of the probes at one moment."""

    at: float
    """Seconds, of a clock that only grows."""
    roles: Mapping[str, Role]
    cpus: Sequence[int]
    """The CPUs that are tested."""


@dataclass(frozen=True)
class Seen:
    """The probes' readings of the roles, and of the machine."""

    roles: Mapping[str, Mapping[str, Reading]] = field(default_factory=dict)
    machine: Mapping[str, Reading] = field(default_factory=dict)

    def __or__(self, other: "Seen") -> "Seen":
        names = dict.fromkeys([*self.roles, *other.roles])
        roles = {name: {**self.roles.get(name, {}), **other.roles.get(name, {})} for name in names}
        return Seen(roles, {**self.machine, **other.machine})


@dataclass(frozen=True)
class Probe:
    """One reader. Outcomes call what it reads role.ROLE.NAME."""

    names: tuple[str, ...]
    """All that it may read of a role."""
    read: Callable[[Scene], Seen]
    last: bool = False
    """Whether it is read only when the window has closed: gauges that take time to read."""


def of_each(read: Callable[[Role, float], Mapping[str, Reading]]) -> Callable[[Scene], Seen]:
    """Return a reader of all roles; `read` is given one, and the scene's time."""
    return lambda scene: Seen({name: read(role, scene.at) for name, role in scene.roles.items()})
