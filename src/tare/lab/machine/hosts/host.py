"""A machine that takes roles: the one interface of this machine and of others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tare.lab.machine.host import Cpus
from tare.lab.machine.limits import Caps
from tare.lab.machine.network import Network
from tare.lab.machine.process import Started
from tare.model.fields import Priority
from tare.probes.probe import Seen


@dataclass(frozen=True)
class Launch:
    """A process to be started on a host."""

    role: str
    argv: Sequence[str]
    env: Mapping[str, str]
    log: Path
    """Of the laboratory; what another host's role writes is copied to it."""
    group: str
    """The name of its control group within the run's."""
    priority: Priority | None
    cpus: Sequence[int]
    caps: Caps
    network: Network | None = None
    """A namespace of the trial's own, on this machine alone."""
    piped: bool = False
    """Whether its standard output is read by `output`, instead of going to the log."""
    spoken_to: bool = False
    """Whether its standard input is a pipe, too; on this machine alone."""


class Host(Protocol):
    """A machine that takes roles. A site is known to it by the folder that the laboratory has for
    it; `folder` is the host's own. All methods raise HostLost when the host cannot be reached.
    """

    name: str
    address: str
    """Where its roles listen."""
    cpus: Cpus
    machine: str
    """The same for hosts that are one machine."""

    def restore(self) -> None:
        """Reach it again if it was lost. Raises TareError when that fails."""

    def folder(self, site: Path) -> Path:
        """Return the folder of a site there."""

    def write(self, site: Path, file: str, content: str) -> None:
        """Write a file of a site's folder, named from there. Raises OSError."""

    def read(self, site: Path, file: str) -> bytes:
        """Return what a file of a site's folder holds. Raises FileNotFoundError."""

    def exists(self, path: str) -> bool:
        """Return true if there is a file of this name."""

    def hold(self, site: Path, names: Sequence[str]) -> dict[str, int]:
        """Return a free port for each name, held until the site ends. Raises MachineFault."""

    def taken(self, port: int) -> bool:
        """Return true if some process has the port."""

    def answers(self, kind: str, port: int, address: str) -> bool:
        """Return true if a port, `tcp` or `udp`, of one of its addresses has a server."""

    def accepts(self, path: str) -> bool:
        """Return true if a Unix socket there takes connections."""

    def start(self, site: Path, what: Launch) -> Started:
        """Start a process. Raises RoleError, MachineFault and Unavailable."""

    def look(self, roles: Mapping[str, Any], at: float, *, last: bool) -> Callable[[], Seen]:
        """Begin to read the probes of roles, which it started; return a function that waits for the
        readings. `at` is the moment, by the laboratory's clock; `last` reads those of a window's
        end.
        """

    def poll_idle(self, *, poll: bool) -> None:
        """Let its idle CPUs poll, or sleep."""

    def end(self, site: Path, tag: str) -> None:
        """Let go of what a site had, whose processes are stopped: ports, shared memory, files."""


@dataclass(frozen=True)
class Hosts:
    """The hosts of a bench, and which of them takes a role."""

    default: Host
    """The one of every role that has no other."""
    placed: Mapping[str, Host] = field(default_factory=dict)
    """Role → its host."""
    loading: Sequence[Host] = ()
    """Those of the load generators, if not the default one."""

    def of(self, role: str) -> Host:
        """Return the host of a role."""
        return self.placed.get(role, self.default)

    def loads(self) -> list[Host]:
        """Return the hosts of the load generators."""
        return list(self.loading) or [self.default]

    @property
    def apart(self) -> bool:
        """Return true if roles are on more than one."""
        return len(self.all()) > 1

    def all(self) -> list[Host]:
        """Return each host once."""
        known = (self.default, *self.placed.values(), *self.loading)
        return list({id(each): each for each in known}.values())
