"""A role's process: started in its own session and group, pinned; watched; stopped."""

import contextlib
import errno
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from tare.lab.errors import MachineFault, RoleError
from tare.lab.machine.cgroup import Group
from tare.lab.machine.limits import UNLIMITED, Caps, impose
from tare.lab.machine.network import Network
from tare.lab.machine.proc import ended, out_of_memory_kills, session_pids, start_time
from tare.lab.missing import remedy
from tare.probes.cpu import CpuTime, of_processes
from tare.probes.throttling import Throttling

_FILES = 65536
_CHUNK = 1 << 16
_TAIL_LINES, _TAIL_BYTES, _TAIL_WIDTH = 6, 1 << 16, 300
MOST_LOG = 1 << 30
"""Bytes of a role's log, beyond which it would fill the disk."""
_KILL_PATIENCE_S = 5.0


@dataclass(frozen=True)
class Place:
    """The place of a process: its group (None without cgroups), its CPUs, its limits, its network
    (None: the laboratory's own).
    """

    group: Group | None
    cpus: Sequence[int]
    caps: Caps = UNLIMITED
    network: Network | None = None
    machine: str = ""
    """What tells its CPUs from those of the same numbers of other machines."""


class Process:
    """One running role. Its standard output and error go to `log`."""

    def __init__(
        self,
        role: str,
        argv: Sequence[str],
        *,
        folder: Path,
        env: Mapping[str, str],
        log: Path,
        place: Place,
        enrol: Callable[[int], None] = lambda _: None,
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = None,
    ) -> None:
        """Start it. `stdin` may be a pipe; `stdout`, if given, takes its output instead of the log.

        Raises RoleError, MachineFault when the machine has no room for it, and Unavailable when its
        limits cannot be imposed.

        The new process calls `enrol` with its number before it becomes the role, so that there is
        no moment at which it runs and is not noted.
        """
        self.role, self.argv, self.log, self.place = role, list(argv), log, place
        if place.group is not None:
            place.group.create(place.cpus)
        impose(place.caps, place.group)
        entrances = place.group.entrances() if place.group is not None else []
        self._kills_before = out_of_memory_kills()
        try:
            with log.open("ab") as output:
                self._child = subprocess.Popen(
                    self.argv,
                    cwd=folder,
                    env=dict(env),
                    stdin=stdin,
                    stdout=output if stdout is None else stdout,
                    stderr=output,
                    start_new_session=True,
                    preexec_fn=lambda: _enter(entrances, place, enrol),
                )
        except (OSError, subprocess.SubprocessError) as error:
            if place.group is not None:
                place.group.remove()  # with its limits, which the next one of its name may not have
            if isinstance(error, OSError) and error.errno == errno.EAGAIN:
                raise MachineFault(
                    f"role {role}: cannot start {self.argv[0]}: no more processes are allowed"
                ) from error
            what = f"role {role}: cannot start {self.argv[0]}: {error}"
            raise RoleError(f"{what}{remedy(self.argv[0], error)}") from error
        self.pid = self._child.pid
        self._started = start_time(self.pid)

    @property
    def child(self) -> "subprocess.Popen[bytes]":
        """The process itself."""
        return self._child

    def pids(self) -> list[int]:
        """All its living processes."""
        if self.place.group is not None:
            return self.place.group.pids()
        return self._session()

    def cpu_time(self) -> CpuTime:
        """CPU time of all its processes, those that ended included where there are cgroups."""
        if self.place.group is not None:
            return self.place.group.cpu_time()
        return of_processes(self.pids())

    def throttling(self) -> Throttling:
        """Return the effects of its limits so far."""
        return self.place.group.throttling() if self.place.group is not None else Throttling()

    def ensure_alive(self) -> None:
        """Raise RoleError, with the last lines of its log, when it has ended or has written too
        much of it, or when one of its processes was killed for its memory limit: others may have
        gone on. Raise MachineFault when it ended for want of the machine's memory, or says by its
        exit code that the machine is at fault.
        """
        most = self.place.caps.memory_bytes
        if most is not None and (kills := self.throttling().oom_kills):
            raise RoleError(
                f"role {self.role} exceeded its memory limit of {most / (1 << 20):g} MB: "
                f"the kernel killed {kills} of its processes{self.last_words()}"
            )
        if _size(self.log) > MOST_LOG:
            raise RoleError(
                f"role {self.role} wrote more than {MOST_LOG / (1 << 20):g} MB to standard output "
                f"and error; let it write less{self.last_words()}"
            )
        if (code := self._child.poll()) is not None:
            stay = "" if code else "; it must stay in the foreground"
            said = f"role {self.role} ended with {ending(code)}{stay}{self.last_words()}"
            if code == -signal.SIGKILL and out_of_memory_kills() > self._kills_before:
                raise MachineFault(f"the machine ran out of memory: {said}")
            raise MachineFault(said) if code == os.EX_TEMPFAIL else RoleError(said)

    def last_words(self) -> str:
        """The end of its log, to be appended to a message."""
        return last_words(self.log)

    def output(self, timeout_s: float) -> bytes | None:
        """Return what it has written to the pipe of its standard output: nothing at the end of it,
        and None if there is none within `timeout_s`.
        """
        stream = self._child.stdout
        assert stream is not None
        if not select.select([stream], [], [], timeout_s)[0]:
            return None
        return os.read(stream.fileno(), _CHUNK)

    def wait(self, timeout_s: float) -> int | None:
        """Return its exit code, or None if it has not ended within `timeout_s`."""
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, number: signal.Signals, patience_s: float) -> bool:
        """Ask it to end, kill what has not within `patience_s`. True when it ended by itself."""
        ended = True
        if self._child.poll() is None:
            self._child.send_signal(number)
            try:
                self._child.wait(patience_s)
            except subprocess.TimeoutExpired:
                ended = False
        self.kill()
        return ended

    def kill(self) -> None:
        """SIGKILL all its processes, those outside its group included, wait until they have ended,
        and remove its group.
        """
        give_up = time.monotonic() + _KILL_PATIENCE_S
        # Again and again: one may have made another between the look and its end.
        while (living := self._living()) and time.monotonic() < give_up:
            for pid in living:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.001)
        self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()
        if self.place.group is not None:
            self.place.group.remove()

    def _living(self) -> list[int]:
        """Return the processes of its group and of its session that have not ended."""
        known = {*self.pids(), *self._session()}
        return [pid for pid in sorted(known) if not ended(pid)]

    def _session(self) -> list[int]:
        return session_pids(self.pid, self._started) if self._started is not None else []


class Watched(Protocol):
    """A process whose end would be noticed."""

    def ensure_alive(self) -> None:
        """Raise RoleError when it has ended."""


class Started(Watched, Protocol):
    """A process of a role, on this machine or another."""

    role: str
    log: Path
    pid: int
    place: Place

    def last_words(self) -> str:
        """The end of its log, to be appended to a message."""

    def output(self, timeout_s: float) -> bytes | None:
        """Return what it has written to the pipe of its standard output: nothing at the end of it,
        and None if there is none within `timeout_s`.
        """

    def wait(self, timeout_s: float) -> int | None:
        """Return its exit code, or None if it has not ended within `timeout_s`."""

    def stop(self, number: signal.Signals, patience_s: float) -> bool:
        """Ask it to end, kill what has not within `patience_s`. True when it ended by itself."""

    def kill(self) -> None:
        """SIGKILL all its processes, and wait until they have ended."""


def wait_until(ready: Callable[[], bool], processes: Sequence[Watched], timeout_s: float) -> bool:
    """Poll `ready` until it holds (True) or time is up (False); RoleError if a process ends."""
    give_up = time.monotonic() + timeout_s
    while True:
        for process in processes:
            process.ensure_alive()
        if ready():
            return True
        if time.monotonic() > give_up:
            return False
        time.sleep(0.002)


def _enter(entrances: Sequence[str], place: Place, enrol: Callable[[int], None]) -> None:
    enrol(os.getpid())
    if place.network is not None:
        place.network.enter()
    # Servers differ in whether they raise this themselves, and some make tables of its size.
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, min(most, _FILES)), most))
    for entrance in entrances:
        Path(entrance).write_text("0")
    os.sched_setaffinity(0, place.cpus)
    if not entrances:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, -20)
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text("-20")


def _size(log: Path) -> int:
    """Return the size of a log in bytes; a role may have removed its own."""
    try:
        return log.stat().st_size
    except FileNotFoundError:
        return 0


def last_words(log: Path) -> str:
    """Return the end of a log, to be appended to a message."""
    with contextlib.suppress(OSError):
        with log.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
            text = stream.read().decode(errors="replace")
        if lines := text.strip().splitlines()[-_TAIL_LINES:]:
            return ": " + " | ".join(map(_short, lines))
    return ", having printed nothing"


def _short(line: str) -> str:
    """Return the beginning of a line, without what a terminal would obey."""
    shown = "".join(
        each if each.isprintable() else "\ufffd"
        for each in line[: _TAIL_WIDTH + 1].replace("\t", " ")
    )
    return shown if len(shown) <= _TAIL_WIDTH else f"{shown[: _TAIL_WIDTH - 1]}…"


def ending(code: int) -> str:
    """Describe how a process ended."""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
