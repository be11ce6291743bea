"""The list of what a run has on the machine, so that it can be removed even after kill -9.

A ledger is a JSON-lines file that exists exactly as long as there may be something to take away.
Its owner holds a lock on it; a ledger without an owner belongs to a dead run. The guardian, a
process of its own (tare.lab.machine.guardian), waits for its owner's end and sweeps at once.
"""

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tare.lab.errors import TareError
from tare.lab.machine import cgroup
from tare.lab.machine.cgroup import Group
from tare.lab.machine.lan import Lan
from tare.lab.machine.network import Network
from tare.lab.machine.proc import boot_id, ended, session_pids, start_time

SHARED_MEMORY = Path("/dev/shm")
_PATIENCE_S = 30.0
_POLL_S = 0.01


class Ledger:
    """The list of one run's groups, sessions, networks and shared memory."""

    def __init__(self, file: Path, tag: str, group: Group | None, *, guarded: bool = False) -> None:
        """Begin (or, after `sweep`, begin again) the ledger in `file`, and lock it. A guardian
        sweeps as soon as this process has ended, however it ends.

        Raises TareError when another process has it.
        """
        self.file = file
        own = os.getpid()
        # Before the file is there, so that at no moment it has nobody to remove it.
        self._guardian = _guardian(file) if guarded else None
        try:
            self._descriptor = _taken(file)
        except TareError:
            self._dismiss(b"not begun")
            raise
        self._write({"tag": tag, "boot": boot_id(), "owner": own, "start": start_time(own)})
        if group is not None:
            self._write({"kind": group.kind, "folders": list(map(str, group.folders.values()))})

    def add_session(self, leader: int) -> None:
        """A role's session, by the process that leads it."""
        self._write({"session": leader, "start": start_time(leader)})

    def add_network(self, network: Network) -> None:
        """A namespace that is about to be made."""
        self._write({"network": network.tag})

    def add_lan(self, lan: Lan) -> None:
        """A bridge with its namespaces that is about to be made."""
        self._write({"lan": lan.tag, "namespaces": list(lan.namespaces)})

    def leave(self) -> None:
        """Let all that is noted outlive this process: the guardian goes without sweeping."""
        self._let_go(b"leave")

    def close(self) -> None:
        """Sweep what is left and remove the ledger; the guardian then finds nothing to do."""
        _sweep(self.file)
        self._let_go(b"swept")

    def _let_go(self, farewell: bytes) -> None:
        os.close(self._descriptor)
        self._dismiss(farewell)

    def _dismiss(self, farewell: bytes) -> None:
        if self._guardian is not None:
            self._guardian.communicate(farewell)

    def _write(self, entry: dict[str, object]) -> None:
        # The line end before it keeps an entry apart from one that a full disk has torn.
        line = f"\n{json.dumps(entry)}\n".encode()
        if os.write(self._descriptor, line) < len(line):  # the disk got full within it
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.file))


def sweep(file: Path, *, dead: bool = False) -> bool:
    """Take away what a dead run left; waits for a guardian at work. False if its owner lives.

    `dead` says that the owner is known not to.
    """
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        try:
            descriptor = _locked(file, os.O_RDWR)
        except FileNotFoundError:
            return True
        except BlockingIOError:
            if (not dead and _owned(file)) or time.monotonic() > give_up:
                return False
            time.sleep(_POLL_S)
            continue
        try:
            _sweep(file)
        finally:
            os.close(descriptor)
        return True


def sweep_all(files: Iterable[Path]) -> None:
    """Sweep every ledger whose owner is dead."""
    for file in files:
        sweep(file)


def _sweep(file: Path) -> None:
    entries = _entries(file)
    same_boot = bool(entries) and entries[0].get("boot") == boot_id()
    for entry in entries:
        if "folders" in entry:
            folders = {str(index): Path(path) for index, path in enumerate(entry["folders"])}
            Group(entry["kind"], folders).remove()
        if "session" in entry and same_boot:
            _end(session_pids(entry["session"], entry["start"]))
            cgroup.remove_groups_of(entry["session"])
        if "network" in entry:
            Network(entry["network"]).remove()
        if "lan" in entry:
            Lan(entry["lan"], entry["namespaces"]).remove()
    for tag in (entry["tag"] for entry in entries if "tag" in entry):
        remove_shared_memory(f"{tag}.")  # last: processes make it until they have ended
    file.unlink(missing_ok=True)


def _end(pids: list[int]) -> None:
    """Kill processes, and wait until they have let go of what they hold."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    give_up = time.monotonic() + _PATIENCE_S
    while not all(map(ended, pids)) and time.monotonic() < give_up:
        time.sleep(_POLL_S)


def remove_shared_memory(tag: str) -> None:
    """Remove POSIX shared memory whose name begins with `tag`."""
    for path in SHARED_MEMORY.glob(f"{tag}*"):
        path.unlink(missing_ok=True)


def _entries(file: Path) -> list[dict[str, Any]]:
    found = []
    for line in file.read_text().splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def _owned(file: Path) -> bool:
    """Return true if the process that began the ledger lives, or is about to begin it."""
    try:
        entries = _entries(file)
    except FileNotFoundError:
        return False
    if not entries:
        return True
    owner, start = entries[0]["owner"], entries[0]["start"]
    return start_time(owner) == start and not ended(owner)


def _taken(file: Path) -> int:
    """Lock this run's own ledger, and return its descriptor.

    Another run that looks for dead ones may hold it, just long enough to see that it is empty.
    """
    for _ in range(100):
        try:
            return _locked(file, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        except BlockingIOError:
            time.sleep(_POLL_S)
    raise TareError(f"{file.parent} is in use by another process")


def _locked(file: Path, flags: int) -> int:
    """A locked descriptor of the file that has this name now. Raises OSError."""
    while True:
        descriptor = os.open(file, flags | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), file.stat()):
                return descriptor
        except FileNotFoundError:
            pass  # swept between opening and locking
        except BlockingIOError:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _guardian(file: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "tare.lab.machine.guardian", str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
