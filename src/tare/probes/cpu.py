"""CPU time: of cgroups, of processes, and of the machine's CPUs."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTime:
    """CPU time used so far, in seconds. User and system are `nan` where they cannot be split."""

    total_s: float
    user_s: float
    system_s: float

    def since(self, earlier: "CpuTime") -> "CpuTime":
        """What was used between `earlier` and this."""
        return CpuTime(
            self.total_s - earlier.total_s,
            self.user_s - earlier.user_s,
            self.system_s - earlier.system_s,
        )


def of_cgroup_v1(cpuacct: Path) -> CpuTime:
    """A v1 cpuacct group (kernel documentation, cgroup-v1/cpuacct)."""
    total = int((cpuacct / "cpuacct.usage").read_text())
    user = int((cpuacct / "cpuacct.usage_user").read_text())
    system = int((cpuacct / "cpuacct.usage_sys").read_text())
    return CpuTime(total / 1e9, user / 1e9, system / 1e9)


def of_cgroup_v2(group: Path) -> CpuTime:
    """A v2 group's cpu.stat (kernel documentation, cgroup-v2)."""
    fields = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return CpuTime(
        int(fields["usage_usec"]) / 1e6,
        int(fields["user_usec"]) / 1e6,
        int(fields["system_usec"]) / 1e6,
    )


def of_processes(pids: Iterable[int]) -> CpuTime:
    """Sum over living processes; time of threads and children that ended is in the kernel's
    per-process counters, but a process that ended between two readings is lost.
    """
    user = system = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        user += int(fields[11]) * _TICK_S
        system += int(fields[12]) * _TICK_S
    return CpuTime(user + system, user, system)


@dataclass(frozen=True)
class MachineTime:
    """Idle (I/O wait included) and stolen time of some CPUs so far, in seconds."""

    idle_s: float
    steal_s: float


def of_cpus(cpus: Sequence[int]) -> MachineTime:
    """/proc/stat (proc(5)) summed over `cpus`."""
    wanted = {f"cpu{number}" for number in cpus}
    idle = steal = 0.0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in wanted:
            idle += (int(fields[3]) + int(fields[4])) * _TICK_S
            steal += int(fields[7]) * _TICK_S
    return MachineTime(idle, steal)
