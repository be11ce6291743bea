"""Other processes that use the CPU: those that would disturb a measurement."""

import os
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

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


def busy(seconds: float, own: Collection[int] = (), proc: Path = Path("/proc")) -> list[Bystander]:
    """Watch for so many seconds; return who used at least `LEAST` of a CPU, the busiest first.

    This process and those of `own` are left out.
    """
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
            if moved > 0 and pid != os.getpid() and pid not in own:
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
    for file in proc.glob("[0-9]*/stat"):
        try:
            head, _, tail = file.read_text().rpartition(")")
        except (OSError, UnicodeDecodeError):
            continue
        fields = tail.split()
        # A kernel worker is named after what it does at the moment.
        name = head.partition("(")[2].partition("/")[0]
        found[int(file.parent.name), fields[19]] = name, int(fields[11]) + int(fields[12])
    return found
