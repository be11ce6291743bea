"""Other processes that use the CPU: those that would disturb a measurement."""

import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tare.probes.process import stat

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_LOOK_S = 0.1
"""Between two looks: compilers come and go."""
LEAST = 0.1
"""Shares of a CPU below this disturb little."""


@dataclass(frozen=True)
class Bystander:
    """Processes of one name, and their share of one CPU."""

    name: str
    pids: tuple[int, ...]
    share: float

    def __str__(self) -> str:
        who = f"process {self.pids[0]}" if len(self.pids) == 1 else f"{len(self.pids)} processes"
        return f"{self.name} ({who}, {100 * self.share:.0f} % of a CPU)"


def busy(seconds: float, proc: Path = Path("/proc")) -> list[Bystander]:
    """Watch for so many seconds; return who else used `LEAST` of a CPU or more, busiest first."""
    ends = time.monotonic() + seconds
    begun, before = time.monotonic(), _look(proc)
    used: Counter[str] = Counter()
    pids: dict[str, set[int]] = {}
    while time.monotonic() < ends:
        time.sleep(_LOOK_S)
        now = _look(proc)
        for process, (name, ticks) in now.items():
            # What a process used before it was first seen is of this time, too.
            moved, pid = ticks - before.get(process, ("", 0))[1], process[0]
            if moved > 0 and pid != os.getpid():
                used[name] += moved
                pids.setdefault(name, set()).add(pid)
        before = now
    lasted = time.monotonic() - begun
    found = [
        Bystander(name, tuple(sorted(pids[name])), ticks * _TICK_S / lasted)
        for name, ticks in used.most_common()
    ]
    return [each for each in found if each.share >= LEAST]


def named(found: Sequence[Bystander], most: int = 3) -> str:
    """Return the busiest in words."""
    return ", ".join(map(str, found[:most])) + (", …" if len(found) > most else "")


def _look(proc: Path) -> dict[tuple[int, str], tuple[str, int]]:
    """Return each process, by its PID and start, with its name and the clock ticks of CPU time that
    it has used (proc(5)).
    """
    found = {}
    for folder in proc.glob("[0-9]*"):
        if (known := stat(folder)) is not None:
            name, fields = known
            # A kernel worker is named after what it does at the moment.
            used = int(fields[11]) + int(fields[12])
            found[int(folder.name), fields[19]] = name.partition("/")[0], used
    return found
