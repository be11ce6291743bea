"""Settings of the kernel that make measurements noisy or biased, and the values that do not.

Their meaning is in the kernel's documentation (admin-guide: pm, mm, sysctl, core-api/irq).
"""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

_IDLE_EXIT_MAX_US = 10


@dataclass(frozen=True)
class Setting:
    """One setting, in one or several files of the kernel."""

    name: str
    pattern: str
    """Of its files, below the root."""
    wanted: str
    good: Callable[[str], bool]
    why: str
    tuned: str | None = None
    """What a file is set to whose value is not good; None: nothing is to be set."""
    counts: Callable[[Path], bool] = lambda _: True
    """Whether a file of the pattern is looked at."""

    def values(self, root: Path = Path("/")) -> dict[Path, str]:
        """Value by file. Raises PermissionError when one may not be read."""
        found = {}
        for file in sorted(root.glob(self.pattern)):
            if self.counts(file) and (value := read(file)) is not None:
                found[file] = value
        return found


def read(file: Path) -> str | None:
    """A setting's value: the word in brackets where the kernel lists all that there are. None where
    there is no value. Raises PermissionError.
    """
    try:
        text = file.read_text().strip()
    except PermissionError:
        raise
    except OSError:
        return None
    _, opened, rest = text.partition("[")
    return rest.partition("]")[0] if opened else text


def cpu_list(text: str) -> set[int]:
    """CPUs of a kernel's list (core-api: "0-2,7"). Raises ValueError."""
    found: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        found.update(range(int(low), int(high or low) + 1))
    return found


def settings(servers: Collection[int]) -> tuple[Setting, ...]:
    """All of them, on a machine whose servers are measured on the CPUs `servers`."""
    elsewhere = sorted(set(range(os.cpu_count() or 1)) - set(servers))
    return (
        Setting(
            "cpu governor",
            "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            "performance",
            lambda value: value == "performance",
            "a clock that follows the load makes a busier variant look cheaper",
            "performance",
        ),
        Setting(
            "turbo (Intel)",
            "sys/devices/system/cpu/intel_pstate/no_turbo",
            "1 (off)",
            lambda value: value == "1",
            "boost depends on heat and on the other cores",
            "1",
        ),
        Setting(
            "turbo (others)",
            "sys/devices/system/cpu/cpufreq/boost",
            "0 (off)",
            lambda value: value == "0",
            "boost depends on heat and on the other cores",
            "0",
        ),
        Setting(
            "deep idle states",
            "sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
            f"1 (off) for those that take more than {_IDLE_EXIT_MAX_US} µs to leave",
            lambda value: value == "1",
            "waking from a deep idle state delays requests, most of all at low load",
            "1",
            _deep,
        ),
        Setting(
            "interrupts",
            "proc/irq/*/smp_affinity_list",
            "not on the CPUs of servers",
            lambda value: not cpu_list(value) & set(servers),
            "the time of an interrupt is charged to the server that happens to run",
            ",".join(map(str, elsewhere)) or None,
        ),
        Setting(
            "transparent huge pages",
            "sys/kernel/mm/transparent_hugepage/enabled",
            "madvise or never",
            lambda value: value != "always",
            "background collapsing of pages takes CPU time at odd moments",
            "madvise",
        ),
        Setting(
            "NUMA balancing",
            "proc/sys/kernel/numa_balancing",
            "0",
            lambda value: value == "0",
            "pages that move between nodes stall the process they belong to",
            "0",
        ),
        Setting(
            "swappiness",
            "proc/sys/vm/swappiness",
            "at most 10",
            lambda value: int(value) <= 10,
            "an idle server that was swapped out is slow to its first requests",
            "10",
        ),
        Setting(
            "disk scheduler",
            "sys/block/*/queue/scheduler",
            "none or mq-deadline",
            lambda value: value in ("none", "mq-deadline"),
            "other schedulers delay requests for fairness to processes that are not measured",
            "none",
        ),
        Setting(
            "CPU scheduler",
            "sys/kernel/debug/sched/preempt",
            "any",
            lambda _: True,
            "sets how long a woken thread waits for the one that runs",
        ),
        Setting(
            "autogroup",
            "proc/sys/kernel/sched_autogroup_enabled",
            "any",
            lambda _: True,
            "decides whether nice works across sessions where there are no control groups",
        ),
        Setting(
            "clock source",
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc",
            lambda value: value in ("tsc", "arch_sys_counter"),
            "other clocks cost a system call for every reading",
        ),
        Setting(
            "address-space randomisation",
            "proc/sys/kernel/randomize_va_space",
            "2",
            lambda value: value == "2",
            "without it every trial has the same memory layout, and its luck stays hidden",
            "2",
        ),
    )


def _deep(disable: Path) -> bool:
    latency = read(disable.with_name("latency"))
    return latency is not None and int(latency) > _IDLE_EXIT_MAX_US
