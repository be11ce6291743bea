"""This machine as a host."""

import shutil
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tare.lab.machine import host, listening, ports
from tare.lab.machine.cgroup import Hierarchy
from tare.lab.machine.hosts.host import Launch
from tare.lab.machine.ledger import Ledger, remove_shared_memory
from tare.lab.machine.ports import Held
from tare.lab.machine.proc import boot_id
from tare.lab.machine.process import Place, Process
from tare.probes import registry
from tare.probes.probe import Scene, Seen

LOOPBACK = "127.0.0.1"


class Local:
    """This machine: groups in `hierarchy`, below the one of `tag`, noted in `ledger`."""

    def __init__(
        self,
        cpus: host.Cpus,
        hierarchy: Hierarchy,
        tag: str,
        ledger: Ledger,
        *,
        name: str = "this machine",
        address: str = LOOPBACK,
        root: Path | None = None,
    ) -> None:
        """With `root`, sites have their folders within it, instead of the laboratory's."""
        self.name, self.address, self.cpus, self.machine = name, address, cpus, boot_id()
        self._hierarchy, self._tag, self._ledger, self._root = hierarchy, tag, ledger, root
        self.idle = host.Idle()
        self._held: dict[Path, Held] = {}

    def at(self, name: str, address: str, cpus: host.Cpus) -> "Local":
        """Return this machine as one of several hosts, which find it at an address."""
        return Local(cpus, self._hierarchy, self._tag, self._ledger, name=name, address=address)

    def restore(self) -> None:
        """Do nothing: this machine is never lost."""

    def folder(self, site: Path) -> Path:
        """Return the folder of a site."""
        return self._root / site.name if self._root else site

    def write(self, site: Path, file: str, content: str) -> None:
        """Write a file of a site's folder. Raises OSError."""
        path = self.folder(site) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def read(self, site: Path, file: str) -> bytes:
        """Return what a file of a site's folder holds. Raises FileNotFoundError."""
        return (self.folder(site) / file).read_bytes()

    def exists(self, path: str) -> bool:
        """Return true if there is a file of this name."""
        return Path(path).exists()

    def hold(self, site: Path, names: Sequence[str]) -> dict[str, int]:
        """Return a free port for each name, held until the site ends. Raises MachineFault."""
        self._held[site] = ports.hold(self.address, names)
        return self._held[site].numbers

    def taken(self, port: int) -> bool:
        """Return true if some process has the port."""
        return ports.taken(self.address, port)

    def answers(self, kind: str, port: int, address: str) -> bool:
        """Return true if a port of one of its addresses has a server."""
        if kind == "udp":
            return listening.bound(address, port)
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((address, port)) == 0

    def accepts(self, path: str) -> bool:
        """Return true if a Unix socket there takes connections."""
        return listening.accepts(path)

    def start(self, site: Path, what: Launch) -> Process:
        """Start a process. Raises RoleError, MachineFault and Unavailable."""
        folder = self.folder(site) / what.role
        folder.mkdir(parents=True, exist_ok=True)
        group = self._hierarchy.role(self._tag, what.group, what.priority)
        return Process(
            what.role,
            what.argv,
            folder=folder,
            env=what.env,
            log=what.log,
            place=Place(group, what.cpus, what.caps, what.network, self.machine),
            enrol=self._ledger.add_session,
            stdin=subprocess.PIPE if what.spoken_to else subprocess.DEVNULL,
            stdout=subprocess.PIPE if what.piped else None,
        )

    def look(self, roles: Mapping[str, Any], at: float, *, last: bool) -> Callable[[], Seen]:
        """Read the probes of roles; return a function that returns the readings."""
        read = registry.read_last if last else registry.read
        seen = read(Scene(at, roles, self.cpus.tested))
        return lambda: seen

    def poll_idle(self, *, poll: bool) -> None:
        """Let idle CPUs poll, or sleep."""
        self.idle.set(poll=poll)

    def end(self, site: Path, tag: str) -> None:
        """Let go of what a site had: ports, shared memory, files of its own."""
        remove_shared_memory(tag)
        if (held := self._held.pop(site, None)) is not None:
            held.release()
        if self._root is not None:
            shutil.rmtree(self.folder(site), ignore_errors=True)

    def close(self) -> None:
        """Let idle CPUs do again what they did before."""
        self.idle.close()
