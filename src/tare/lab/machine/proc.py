"""Process facts from /proc: start time, end, and the members of a session."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tare.probes.process import stat


def session_pids(leader: int, start: int) -> list[int]:
    """Living processes of the session that `leader`, started at `start`, leads or led."""
    if start_time(leader) not in (None, start):
        return []  # the number is somebody else's by now
    return [pid for pid in all_pids() if _session(pid) == leader]


def family(parents: Iterable[int]) -> list[int]:
    """Return those of the processes that live, and their living descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for pid in all_pids():
        if (fields := _stat(pid)) and fields[0] not in "ZX":
            children[int(fields[1])].append(pid)
    alive = {pid for pids in children.values() for pid in pids}
    found, waiting = set(), [pid for pid in parents if pid in alive]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children[pid]
    return sorted(found)


def start_time(pid: int) -> int | None:
    """Return a process's start in clock ticks since boot, which with its PID identifies it."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def ended(pid: int) -> bool:
    """Return true if a process is gone, or is a zombie."""
    fields = _stat(pid)
    return fields is None or fields[0] in "ZX"


def out_of_memory_kills() -> int:
    """Return the number of processes that the kernel has killed for want of memory since boot."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def boot_id() -> str:
    """Return what tells this start of this machine's kernel from all others."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _session(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[3]) if fields else None


def all_pids() -> list[int]:
    """Return the numbers of all processes."""
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _stat(pid: int) -> list[str] | None:
    known = stat(Path(f"/proc/{pid}"))
    return None if known is None else known[1]
