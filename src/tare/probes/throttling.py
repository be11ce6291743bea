"""Effects of limits on a control group: throttled time, and refused memory."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Throttling:
    """Counts so far. All zero in a group without limits."""

    throttled_s: float = 0.0
    """Summed over the CPUs on which it had to wait for its next period."""
    periods: int = 0
    """Periods of the CPU limit in which it ran."""
    throttled_periods: int = 0
    memory_hits: int = 0
    """How often it wanted more than its memory limit."""
    oom_kills: int = 0
    """Processes that the kernel killed for it."""

    def since(self, earlier: "Throttling") -> "Throttling":
        """Return what was added between `earlier` and this."""
        return Throttling(
            self.throttled_s - earlier.throttled_s,
            self.periods - earlier.periods,
            self.throttled_periods - earlier.throttled_periods,
            self.memory_hits - earlier.memory_hits,
            self.oom_kills - earlier.oom_kills,
        )


def of_cgroup_v1(cpu: Path, memory: Path | None) -> Throttling:
    """Of v1 groups (kernel documentation, scheduler/sched-bwc and cgroup-v1/memory)."""
    run = _fields(cpu / "cpu.stat")
    return Throttling(
        throttled_s=run.get("throttled_time", 0) / 1e9,
        periods=run.get("nr_periods", 0),
        throttled_periods=run.get("nr_throttled", 0),
        memory_hits=_number(memory / "memory.failcnt") if memory else 0,
        oom_kills=_fields(memory / "memory.oom_control").get("oom_kill", 0) if memory else 0,
    )


def of_cgroup_v2(group: Path) -> Throttling:
    """Of a v2 group (kernel documentation, cgroup-v2)."""
    run, memory = _fields(group / "cpu.stat"), _fields(group / "memory.events")
    return Throttling(
        throttled_s=run.get("throttled_usec", 0) / 1e6,
        periods=run.get("nr_periods", 0),
        throttled_periods=run.get("nr_throttled", 0),
        memory_hits=memory.get("max", 0),
        oom_kills=memory.get("oom_kill", 0),
    )


def _fields(file: Path) -> dict[str, int]:
    """A file of names and numbers; empty where this kernel has none."""
    if not file.exists():
        return {}
    pairs = (line.split() for line in file.read_text().splitlines())
    return {name: int(value) for name, value in pairs}


def _number(file: Path) -> int:
    return int(file.read_text()) if file.exists() else 0
