"""An agent: works on a host for the laboratory, which asks over a channel that SSH or a pipe is.

It sleeps in the kernel between questions, listens on no port, and ends with its channel; its
guardian then removes what it had started.
"""

import contextlib
import os
import pwd
import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

from tare.lab import paths
from tare.lab.errors import TareError
from tare.lab.machine import cgroup, host
from tare.lab.machine.hosts import link, wire
from tare.lab.machine.hosts.host import Launch
from tare.lab.machine.hosts.local import Local
from tare.lab.machine.ledger import Ledger, sweep
from tare.lab.machine.limits import Caps
from tare.lab.machine.proc import boot_id
from tare.lab.machine.process import Process
from tare.probes.audit import audit
from tare.probes.process import stat

_LEDGER = "ledger.jsonl"
_CHUNK = 1 << 20
_TICK_S = 3600.0
_ENDING_S = 5.0
Answer = Callable[..., Any]


class Channel(Protocol):
    """A way to and from the laboratory."""

    def receive(self) -> Any:
        """Wait for a message. Raises EOFError when the laboratory has gone."""

    def send(self, message: Any) -> None:
        """Send one of plain values."""

    def close(self) -> None:
        """Close it."""


def facts() -> dict[str, Any]:
    """Return what decides whether a host can work with others."""
    return {
        **audit([]),
        "root": str(paths.ROOT),
        "cache": str(paths.cache()),
        "user": pwd.getpwuid(os.geteuid()).pw_name,
        "boot": boot_id(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "control_groups": cgroup.detect().kind,
    }


MACHINE: dict[str, Answer] = {
    "facts": facts,
    "clock": time.time,
    "open_door": link.open_door,
    "close_door": link.close_door,
    "round_trip_us": link.round_trip_us,
}
"""Question about the machine → what answers it; it needs not be a run's host yet."""


def serve(channel: Channel, more: Mapping[str, Answer]) -> None:
    """Answer questions until the laboratory has gone; `more` are answers beside those of a host."""
    # Ctrl-C at the laboratory is the laboratory's to handle; children get the default again.
    signal.signal(signal.SIGINT, lambda *_: None)
    with contextlib.ExitStack() as ending:
        agent = _Agent(ending)
        answers = {**MACHINE, **agent.answers(), **more}
        while True:
            try:
                number, name, arguments = channel.receive()
            except EOFError:
                return
            try:
                reply = (number, True, answers[name](*arguments))
            except (TareError, OSError) as error:
                reply = (number, False, wire.fault(error))
            channel.send(reply)


class _Agent:
    def __init__(self, ending: contextlib.ExitStack) -> None:
        self._ending = ending
        self._processes: dict[int, Process] = {}
        self._pumps: dict[int, threading.Thread] = {}

    def answers(self) -> dict[str, Answer]:
        """Return question → what answers it."""
        return {
            "open": self._open,
            "write": lambda site, file, text: self._host.write(Path(site), file, text),
            "read": lambda site, file: self._host.read(Path(site), file),
            "exists": lambda path: self._host.exists(path),
            "hold": lambda site, names: self._host.hold(Path(site), names),
            "taken": lambda port: self._host.taken(port),
            "answers": lambda *asked: self._host.answers(*asked),
            "accepts": lambda path: self._host.accepts(path),
            "start": self._start,
            "state": self._state,
            "wait": lambda pid, timeout_s: self._processes[pid].wait(timeout_s),
            "stop": self._stop,
            "kill": self._kill,
            "look": self._look,
            "poll_idle": lambda poll: self._host.poll_idle(poll=poll),
            "end": self._end,
        }

    def _open(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Become a host; return its folder, its CPUs, and what isolates less than it could."""
        root = paths.runs() / f"host-{settings['name']}"
        if not sweep(root / _LEDGER):
            raise TareError(
                f"{root} is in use: another run has a host called {settings['name']} there"
            )
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        hierarchy = replace(cgroup.detect(), priority=settings["priority"])
        tag = f"{settings['tag']}.{settings['name']}"
        ledger = Ledger(root / _LEDGER, settings["tag"], hierarchy.run(tag), guarded=True)
        # Last registered, first called: the ledger goes before the folder that it is in.
        self._ending.callback(shutil.rmtree, root, ignore_errors=True)
        self._ending.callback(ledger.close)
        cpus = _cpus(settings)
        self._host = Local(
            cpus,
            hierarchy,
            tag,
            ledger,
            name=settings["name"],
            address=settings["address"],
            root=root,
        )
        self._ending.callback(self._host.close)
        for thread in host.own_threads():
            os.sched_setaffinity(thread, cpus.support)
        priority = host.raise_own_priority([*host.own_threads(), *_bearers()])
        shared = settings["shared"] is not None  # the laboratory has said it of its own
        remarks = [] if shared else [hierarchy.remark, cpus.remark, self._host.idle.remark]
        remarks.append(priority)
        return {
            "root": str(root),
            "cpus": asdict(cpus),
            "remarks": [remark for remark in remarks if remark],
        }

    def _start(self, site: str, what: Mapping[str, Any], stream: Channel | None) -> int:
        folder = Path(site)
        log = self._host.folder(folder) / f"{what['role']}.log"
        log.parent.mkdir(exist_ok=True)
        asked = {**what, "log": log, "caps": Caps(**what["caps"]), "piped": stream is not None}
        process = self._host.start(folder, Launch(**asked))
        self._processes[process.pid] = process
        if stream is not None:
            pump = threading.Thread(target=_pump, args=(process, stream), daemon=True)
            self._pumps[process.pid] = pump
            pump.start()
        return process.pid

    def _state(self, pid: int, known: int) -> dict[str, Any]:
        """Return what the log holds after `known` bytes, nothing of one that the role removed, and
        why the process is none any more.
        """
        process, fault = self._processes[pid], None
        try:
            process.ensure_alive()
        except TareError as error:
            fault = wire.fault(error)
        fresh = b""
        with contextlib.suppress(FileNotFoundError), process.log.open("rb") as log:
            log.seek(known)
            fresh = log.read(_CHUNK)
        return {"log": fresh, "fault": fault}

    def _stop(self, pid: int, number: int, patience_s: float) -> bool:
        return self._processes[pid].stop(signal.Signals(number), patience_s)

    def _kill(self, pid: int) -> None:
        process = self._processes[pid]
        for each in process.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        if pump := self._pumps.pop(pid, None):
            pump.join(_ENDING_S)
        process.kill()

    def _end(self, site: str, tag: str) -> None:
        folder = self._host.folder(Path(site))
        self._processes = {
            pid: process
            for pid, process in self._processes.items()
            if not process.log.is_relative_to(folder)
        }
        self._host.end(Path(site), tag)

    def _look(self, roles: Mapping[str, int], at: float, last: bool) -> dict[str, Any]:
        processes = {role: self._processes[pid] for role, pid in roles.items()}
        return wire.packed(self._host.look(processes, at, last=last)())


def _cpus(settings: Mapping[str, Any]) -> host.Cpus:
    if settings["shared"] is not None:
        return host.Cpus(**settings["shared"])
    allowed = os.sched_getaffinity(0)
    if missing := set(settings["cpus"]) - allowed:
        raise TareError(f"it has no CPU {min(missing)}; it may use {sorted(allowed)}")
    server, client, backend = settings["wanted"]
    return host.assign(host.by_core(settings["cpus"] or sorted(allowed)), server, client, backend)


def _bearers() -> list[int]:
    """Return the processes of sshd(8) through which this agent is reached."""
    found, pid = [], os.getppid()
    while pid > 1 and (known := stat(Path(f"/proc/{pid}"))) is not None:
        name, fields = known
        parent = int(fields[1])
        if name.startswith("sshd") and parent > 1:  # not the one that waits for everybody
            found.append(pid)
        pid = parent
    return found


def _pump(process: Process, stream: Channel) -> None:
    host.raise_own_priority()  # the instrument's events say when probes are due
    with contextlib.suppress(OSError):  # the laboratory has gone
        while (chunk := process.output(_TICK_S)) != b"":
            if chunk:
                stream.send(chunk)
        stream.close()
