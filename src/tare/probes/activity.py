"""Counts of what processes did, from /proc: what is left where no profiler may run."""

import os
from collections.abc import Iterable
from pathlib import Path

from tare.probes.cpu import of_processes
from tare.probes.process import stat, switches, tasks

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_MINOR, _MAJOR, _USER, _SYSTEM = 7, 9, 11, 12
"""Fields of /proc/PID/stat behind the name (proc_pid_stat(5))."""


def activity(pids: Iterable[int]) -> dict[str, int]:
    """Return sums over the living processes so far, by the names of the profiler's counts where it
    has the same.

    `cpu.user_ns` and `cpu.kernel_ns` have the resolution of the kernel's tick. Switches, and the
    time in which threads waited for a CPU (proc_pid_schedstat(5)), are those of living threads.
    """
    known = list(pids)
    switched = switches(known)
    found = {
        "cpu_ns": round(of_processes(known).total_s * 1e9),
        "cpu.user_ns": 0,
        "cpu.kernel_ns": 0,
        "fault.minor": 0,
        "fault.major": 0,
        "queued_ns": sum(_queued_ns(task) for pid in known for task in tasks(pid)),
        "switch.voluntary": switched.voluntary,
        "switch.involuntary": switched.involuntary,
    }
    for pid in known:
        if (read := stat(Path(f"/proc/{pid}"))) is None:
            continue
        _, fields = read
        found["cpu.user_ns"] += int(fields[_USER]) * _TICK_NS
        found["cpu.kernel_ns"] += int(fields[_SYSTEM]) * _TICK_NS
        found["fault.minor"] += int(fields[_MINOR])
        found["fault.major"] += int(fields[_MAJOR])
    return found


def _queued_ns(task: Path) -> int:
    """Return 0 too where the kernel does not tell (CONFIG_SCHED_INFO)."""
    try:
        return int((task / "schedstat").read_text().split()[1])
    except (OSError, IndexError):
        return 0
