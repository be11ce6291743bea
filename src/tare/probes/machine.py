"""CPU time of the whole machine by what used it, as the kernel's ticks sampled it."""

import os
from dataclasses import astuple, dataclass
from pathlib import Path

from tare.probes.process import stat

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_KERNEL_THREAD = 0x0020_0000
"""PF_KTHREAD among a task's flags (include/linux/sched.h)."""


@dataclass(frozen=True)
class MachineCpu:
    """Seconds so far over all CPUs (proc(5), /proc/stat)."""

    user_s: float
    system_s: float
    """Kernel threads included."""
    interrupts_s: float
    """Hard and soft interrupts; the network's receive path is among the soft ones."""
    kernel_threads_s: float
    steal_s: float

    def since(self, earlier: "MachineCpu") -> "MachineCpu":
        """Return what was used between `earlier` and this."""
        pairs = zip(astuple(self), astuple(earlier), strict=True)
        return MachineCpu(*(now - before for now, before in pairs))


def machine_cpu(proc: Path = Path("/proc")) -> MachineCpu:
    """Read the machine's times. Raises OSError."""
    first = (proc / "stat").read_text().partition("\n")[0]
    user, nice, system, _, _, hard, soft, steal, *_ = (
        int(ticks) * _TICK_S for ticks in first.split()[1:]
    )
    return MachineCpu(user + nice, system, hard + soft, _kernel_threads_s(proc), steal)


def _kernel_threads_s(proc: Path) -> float:
    found = 0
    for folder in proc.glob("[0-9]*"):
        if (known := stat(folder)) is not None and int(known[1][6]) & _KERNEL_THREAD:
            found += int(known[1][11]) + int(known[1][12])
    return found * _TICK_S
