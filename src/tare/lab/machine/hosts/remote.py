"""Another host, for which an agent works: over SSH, or in a network namespace of this machine.

The way there is execnet's: plain values through the pipes of ssh(1) or nsenter(1), and no port.
"""

import contextlib
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import execnet
from execnet.gateway_io import Popen2IOMaster

from tare.lab import paths
from tare.lab.errors import HostLost, TareError
from tare.lab.machine import host
from tare.lab.machine.host import Cpus
from tare.lab.machine.hosts import wire
from tare.lab.machine.hosts.host import Launch
from tare.lab.machine.hosts.remote_process import RemoteProcess
from tare.lab.machine.network import NAMES
from tare.model.hosts import RoleHost
from tare.probes.probe import Seen

_PATIENCE_S = 30.0
"""For an answer, beside what was asked to take longer."""
_SSH = "-o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ServerAliveCountMax=3"
_GOING_S = 5.0
_LOST = (EOFError, OSError, execnet.TimeoutError, execnet.RemoteError)


class Remote:
    """A host behind an agent."""

    def __init__(self, name: str, place: RoleHost, entry: str) -> None:
        """Nothing is reached yet. `entry` is the module whose `serve` the agent runs."""
        self.name, self.address = name, str(place.address)
        self.place = place
        self.opened: Callable[[], Any] = lambda: None
        """Called after each connection: what makes it ready for a run."""
        self._entry = entry
        self._gateway: execnet.Gateway | None = None
        self._channel: execnet.Channel | None = None
        self._number = 0
        self._root = Path()

    def connect(self) -> None:
        """Start the agent there. Raises TareError when the host cannot be reached."""
        self.close()
        try:
            # A group of its own, so that one host's end ends no other's.
            self._gateway = execnet.Group().makegateway(_spec(self.place))
            self._way = cast(Popen2IOMaster, self._gateway._io)
            self._channel = self._gateway.remote_exec(_START)
            self._channel.send(_settings(self._entry))
            self.facts = dict(self.ask("facts"))
            self.machine = str(self.facts["boot"])
        except (*_LOST, HostLost, execnet.HostNotFound) as error:
            self.close()
            raise TareError(
                f"host {self.name}: no agent could be started by {self.place.control}: "
                f"{_last_line(error)}; "
                f"expected {sys.executable} and {paths.ROOT} there, as here; try: "
                f"{_by_hand(self.place)} true"
            ) from error

    def restore(self) -> None:
        """Reach it again if it was lost. Raises TareError when that fails."""
        with contextlib.suppress(HostLost):
            self.ask("clock")
        if self._channel is None:
            self.connect()
            self.opened()

    def close(self) -> None:
        """Let the agent go; it takes down what it had started."""
        gateway, self._gateway, self._channel = self._gateway, None, None
        if gateway is not None:
            gateway._group.terminate(timeout=_GOING_S)

    def ask(self, name: str, *arguments: Any, patience_s: float = 0.0) -> Any:
        """Return the agent's answer. Raises HostLost, and what the agent met."""
        return self.begin(name, *arguments, patience_s=patience_s)()

    def begin(self, name: str, *arguments: Any, patience_s: float = 0.0) -> Callable[[], Any]:
        """Ask, and return a function that waits for the answer."""
        channel = self._channel
        if channel is None:
            raise self._lost(EOFError("it was lost before"))
        self._number += 1
        number = self._number
        try:
            channel.send((number, name, arguments))
        except _LOST as error:
            raise self._lost(error) from error
        return lambda: self._answer(channel, number, patience_s + _PATIENCE_S)

    def open(self, settings: Mapping[str, Any]) -> list[str]:
        """Have the agent make itself a host of a run; return its remarks."""
        # Else load on the same CPU would hold up what passes through ssh(1).
        host.raise_own_priority([self._way.popen.pid])
        found = self.ask("open", {"name": self.name, "address": self.address, **settings})
        self._root, self.cpus = Path(found["root"]), Cpus(**found["cpus"])
        return [f"host {self.name}: {remark}" for remark in found["remarks"]]

    def folder(self, site: Path) -> Path:
        """Return the folder of a site there."""
        return self._root / site.name

    def write(self, site: Path, file: str, content: str) -> None:
        """Write a file of a site's folder."""
        self.ask("write", site.name, file, content)

    def read(self, site: Path, file: str) -> bytes:
        """Return what a file of a site's folder holds."""
        return bytes(self.ask("read", site.name, file))

    def exists(self, path: str) -> bool:
        """Return true if there is a file of this name."""
        return bool(self.ask("exists", path))

    def hold(self, site: Path, names: Sequence[str]) -> dict[str, int]:
        """Return a free port for each name, held until the site ends. Raises MachineFault."""
        return dict(self.ask("hold", site.name, list(names)))

    def taken(self, port: int) -> bool:
        """Return true if some process has the port."""
        return bool(self.ask("taken", port))

    def answers(self, kind: str, port: int, address: str) -> bool:
        """Return true if a port of one of its addresses has a server."""
        return bool(self.ask("answers", kind, port, address))

    def accepts(self, path: str) -> bool:
        """Return true if a Unix socket there takes connections."""
        return bool(self.ask("accepts", path))

    def start(self, site: Path, what: Launch) -> RemoteProcess:
        """Start a process. Raises RoleError, MachineFault and Unavailable."""
        assert self._channel is not None and what.network is None and not what.spoken_to
        asked = {
            "role": what.role,
            "argv": list(what.argv),
            "env": dict(what.env),
            "group": what.group,
            "priority": what.priority,
            "cpus": list(what.cpus),
            "caps": asdict(what.caps),
        }
        stream = self._channel.gateway.newchannel() if what.piped else None
        pid = self.ask("start", site.name, asked, stream)
        return RemoteProcess(self, what, pid, stream)

    def look(self, roles: Mapping[str, Any], at: float, *, last: bool) -> Callable[[], Seen]:
        """Begin to read the probes of roles; return a function that waits for the readings."""
        pids = {role: process.pid for role, process in roles.items()}
        answer = self.begin("look", pids, at, last)
        return lambda: wire.unpacked(answer())

    def poll_idle(self, *, poll: bool) -> None:
        """Let its idle CPUs poll, or sleep."""
        self.ask("poll_idle", poll)

    def end(self, site: Path, tag: str) -> None:
        """Let go of what a site had."""
        self.ask("end", site.name, tag)

    def _answer(self, channel: execnet.Channel, number: int, timeout_s: float) -> Any:
        give_up = time.monotonic() + timeout_s
        while True:
            try:
                # An answer that nobody waited for, when a stop came in between, is skipped.
                found, done, what = channel.receive(max(0.0, give_up - time.monotonic()))
            except _LOST as error:
                raise self._lost(error) from error
            if found == number:
                break
        if done:
            return what
        kind, text = what
        raise wire.raised(kind, text, self.name)

    def _lost(self, error: BaseException) -> HostLost:
        self.close()
        return HostLost(
            f"host {self.name} ({self.place.control}) was lost: its agent has ended or cannot be "
            f"reached any more ({_last_line(error)})"
        )


def _spec(place: RoleHost) -> str:
    if place.namespace:
        command = ["nsenter", f"--net={NAMES / place.namespace}", sys.executable, "-P"]
        return f"popen//python={shlex.join(command)}"
    return f"ssh={place.ssh} {_SSH}//python={sys.executable} -P"


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def _by_hand(place: RoleHost) -> str:
    if place.namespace:
        return f"nsenter --net={NAMES / place.namespace}"
    return f"ssh {place.ssh}"


def _settings(entry: str) -> dict[str, Any]:
    return {
        "entry": entry,
        "path": str(Path(__file__).resolve().parents[4]),
        "environment": {
            "TARE_ROOT": str(paths.ROOT),
            "TARE_CACHE": str(paths.cache()),
            "TARE_RUNS": str(paths.runs()),
        },
    }


_START = """
import importlib, os, sys
settings = channel.receive()
os.environ.update(settings["environment"])
sys.path.insert(0, settings["path"])
os.chdir(settings["environment"]["TARE_ROOT"])
importlib.import_module(settings["entry"]).serve(channel)
"""
