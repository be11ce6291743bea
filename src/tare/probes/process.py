"""Resource use of processes: memory, context switches, threads."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_SWITCHES = re.compile(rb"\nvoluntary_ctxt_switches:\s+(\d+)\nnonvoluntary_ctxt_switches:\s+(\d+)")


@dataclass(frozen=True)
class Usage:
    """Sums over living processes. Memory in bytes, shared pages divided among their users."""

    memory_bytes: int
    peak_bytes: int
    """Sum of each process's own peak of resident memory (VmHWM); shared pages count in each."""
    switches_voluntary: int
    switches_involuntary: int


@dataclass(frozen=True)
class Switches:
    """Context switches so far, all threads."""

    voluntary: int
    involuntary: int


def stat(folder: Path) -> tuple[str, list[str]] | None:
    """Return a process's name and the fields behind it, the state first (proc(5), /proc/PID/stat);
    None when it has ended meanwhile.
    """
    try:
        head, _, tail = (folder / "stat").read_text(errors="replace").rpartition(")")
    except OSError:
        return None
    return head.partition("(")[2], tail.split()


def tasks(pid: int) -> list[Path]:
    """A folder for each living thread; none when the process has ended meanwhile."""
    folder = Path(f"/proc/{pid}/task")
    try:
        return list(folder.iterdir())
    except OSError:  # reaped between two looks: Path.glob would raise
        return []


def switches(pids: Iterable[int]) -> Switches:
    """Sum over the living threads of `pids` (proc(5), /proc/PID/task/TID/status).

    It is read while a window is open, on a test CPU, and a server may have hundreds of threads: no
    file is parsed for more than these fields.
    """
    voluntary = involuntary = 0
    for pid in pids:
        for task in tasks(pid):
            if found := _SWITCHES.search(_content(f"{task}/status")):
                voluntary += int(found[1])
                involuntary += int(found[2])
    return Switches(voluntary, involuntary)


def usage(pids: Iterable[int]) -> Usage:
    """Memory and switches of `pids`; a process that ended meanwhile counts nothing."""
    known = list(pids)
    memory = peak = 0
    for pid in known:
        memory += _kib(_fields(Path(f"/proc/{pid}/smaps_rollup")), "Pss")
        peak += _kib(_fields(Path(f"/proc/{pid}/status")), "VmHWM")
    done = switches(known)
    return Usage(memory * 1024, peak * 1024, done.voluntary, done.involuntary)


def _content(file: str) -> bytes:
    """A file's first page; Path.read_bytes takes three times as long."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, os.sysconf("SC_PAGESIZE"))
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _fields(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {key.strip(): rest.strip() for key, _, rest in pairs}


def _kib(fields: dict[str, str], key: str) -> int:
    return int(fields[key].split()[0]) if key in fields else 0
