"""What a run has on the machine, so that it can be taken away also when the run was killed.

A ledger is a JSON-lines file that exists exactly as long as there may be something to take away.
Its owner holds a lock on it; a ledger without an owner belongs to a dead run. A guardian, a process
forked at the start, waits for its owner's end and sweeps at once.
"""

import contextlib
import fcntl
import json
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from tare.lab.cgroup import Group

SHARED_MEMORY = Path("/dev/shm")


class Ledger:
    """The list of one run's groups, sessions and shared memory."""

    def __init__(self, file: Path, tag: str, group: Group | None) -> None:
        """Begin (or, after `sweep`, begin again) the ledger in `file`, and lock it."""
        self.file = file
        self._stream = _locked(file)
        self._write({"tag": tag, "boot": _boot_id()})
        if group is not None:
            self._write({"kind": group.kind, "folders": list(map(str, group.folders.values()))})
        self._end: int | None = None

    def add_session(self, leader: int) -> None:
        """A role's session, by the process that leads it."""
        self._write({"session": leader, "start": start_time(leader)})

    def guard(self) -> None:
        """Fork the guardian. Call it before any thread exists."""
        ours, self._end = os.pipe()
        if os.fork():
            os.close(ours)
            return
        os.close(self._end)
        self._stream.close()
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.read(ours, 1)
        with contextlib.suppress(Exception):
            sweep(self.file)
        os._exit(0)

    def close(self) -> None:
        """Sweep what is left and remove the ledger; the guardian then finds nothing to do."""
        _sweep(self.file)
        self._stream.close()
        if self._end is not None:
            os.close(self._end)
            self._end = None

    def _write(self, entry: dict[str, object]) -> None:
        self._stream.write(json.dumps(entry) + "\n")
        self._stream.flush()


def sweep(file: Path) -> bool:
    """Take away what a dead run left; waits for a guardian at work. False if its owner lives."""
    try:
        stream = _locked(file, create=False)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    with stream:
        _sweep(file)
    return True


def sweep_all(files: Iterable[Path]) -> None:
    """Sweep every ledger whose owner is dead."""
    for file in files:
        sweep(file)


def session_pids(leader: int, start: int) -> list[int]:
    """Living processes of the session that `leader`, started at `start`, leads or led."""
    if start_time(leader) not in (None, start):
        return []  # the number is somebody else's by now
    return [pid for pid in _all_pids() if _session(pid) == leader]


def _sweep(file: Path) -> None:
    entries = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
    same_boot = bool(entries) and entries[0].get("boot") == _boot_id()
    for entry in entries:
        if "folders" in entry:
            folders = {str(index): Path(path) for index, path in enumerate(entry["folders"])}
            Group(entry["kind"], folders).remove()
        if "session" in entry and same_boot:
            for pid in session_pids(entry["session"], entry["start"]):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if tag := entry.get("tag"):
            remove_shared_memory(tag)
    file.unlink(missing_ok=True)


def remove_shared_memory(tag: str) -> None:
    """Remove POSIX shared memory whose name begins with `tag`."""
    for path in SHARED_MEMORY.glob(f"{tag}*"):
        path.unlink(missing_ok=True)


def _locked(file: Path, *, create: bool = True) -> IO[str]:
    stream = file.open("a" if create else "r+")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        raise
    return stream


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _stat(pid: int) -> list[str] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; with its number it names a process."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def _session(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[3]) if fields else None


def _all_pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
