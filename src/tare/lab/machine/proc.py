"""Process facts from /proc: start time, end, and the members of a session."""

from pathlib import Path

from tare.probes.process import stat


def session_pids(leader: int, start: int) -> list[int]:
    """Living processes of the session that `leader`, started at `start`, leads or led."""
    if start_time(leader) not in (None, start):
        return []  # the number is somebody else's by now
    return [pid for pid in _all_pids() if _session(pid) == leader]


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


def _session(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[3]) if fields else None


def _all_pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _stat(pid: int) -> list[str] | None:
    known = stat(Path(f"/proc/{pid}"))
    return None if known is None else known[1]
