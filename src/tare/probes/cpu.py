"""CPU time: of cgroups, of processes, and of the machine's CPUs."""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tare.probes.process import stat, tasks

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_SCHEDULED = 2
"""The kind of a clock that counts what the scheduler gave a whole process."""
_ROOT_ACCOUNT = Path("/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu")


@dataclass(frozen=True)
class CpuTime:
    """CPU time used so far, in seconds. User and system are `nan` where they cannot be split."""

    total_s: float
    user_s: float
    system_s: float

    def since(self, earlier: "CpuTime") -> "CpuTime":
        """Return what was used between `earlier` and this."""
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
    """Sum over living processes; time of threads that ended is in the kernel's per-process
    counters, but a process that ended between two readings is lost.

    /proc has ticks of 10 ms; the sum is of the processes' CPU clocks, which have nanoseconds
    (clock_getcpuclockid(3)).
    """
    total = user = system = 0.0
    for pid in pids:
        if (known := stat(Path(f"/proc/{pid}"))) is not None:
            ticks = [int(each) * _TICK_S for each in known[1][11:13]]
            user, system = user + ticks[0], system + ticks[1]
            total += _clock(pid) or sum(ticks)
    return CpuTime(total, user, system)


def _clock(pid: int) -> float | None:
    """Return a process's CPU clock in seconds; None where the kernel does not give it."""
    try:
        return time.clock_gettime(~pid << 3 | _SCHEDULED)
    except OSError:
        return None


@dataclass(frozen=True)
class MachineTime:
    """CPU time that tasks used of some CPUs, and that the hypervisor took, so far, in seconds."""

    used_s: float
    steal_s: float


def of_cpus(cpus: Sequence[int]) -> MachineTime:
    """All tasks' time on `cpus`, and stolen time.

    The kernel samples the times of /proc/stat (proc(5)) at its ticks, and load by the clock keeps
    step with the ticks. So the time used comes
    from the scheduler's exact accounts: the root of a v1 cpuacct hierarchy, else every task's
    schedstat, filed under the CPU it last ran on.
    """
    wanted = {f"cpu{number}" for number in cpus}
    steal = 0.0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in wanted:
            steal += int(fields[7]) * _TICK_S
    if _ROOT_ACCOUNT.exists():
        by_cpu = [int(used) for used in _ROOT_ACCOUNT.read_text().split()]
        return MachineTime(sum(by_cpu[number] for number in cpus) / 1e9, steal)
    return MachineTime(_of_tasks(set(cpus)), steal)


def _of_tasks(cpus: set[int]) -> float:
    total = 0
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    for task in (task for pid in pids for task in tasks(pid)):
        try:
            last_cpu = int((task / "stat").read_text().rpartition(")")[2].split()[36])
            used = int((task / "schedstat").read_text().split()[0])
        except (OSError, IndexError):
            continue
        if last_cpu in cpus:
            total += used
    return total / 1e9
