"""What a machine is, and which of its settings make measurements noisy or biased."""

import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class Finding:
    """One setting: its value, the value wanted, and why it matters."""

    name: str
    value: str
    wanted: str
    status: Literal["ok", "differs", "unavailable"]
    why: str


@dataclass(frozen=True)
class _Check:
    name: str
    file: str
    wanted: str
    good: Callable[[str], bool]
    why: str


_CHECKS = (
    _Check(
        "cpu governor",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "performance",
        lambda value: value == "performance",
        "a clock that follows the load makes a busier variant look cheaper",
    ),
    _Check(
        "turbo",
        "/sys/devices/system/cpu/intel_pstate/no_turbo",
        "1 (off)",
        lambda value: value == "1",
        "boost depends on heat and on the other cores",
    ),
    _Check(
        "transparent huge pages",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "madvise or never",
        lambda value: "[always]" not in value,
        "background collapsing of pages takes CPU time at odd moments",
    ),
    _Check(
        "NUMA balancing",
        "/proc/sys/kernel/numa_balancing",
        "0",
        lambda value: value == "0",
        "pages that move between nodes stall the process they belong to",
    ),
    _Check(
        "clock source",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "tsc",
        lambda value: value in ("tsc", "arch_sys_counter"),
        "other clocks cost a system call for every reading",
    ),
    _Check(
        "address-space randomisation",
        "/proc/sys/kernel/randomize_va_space",
        "2",
        lambda value: value == "2",
        "without it every trial repeats one layout and hides its luck",
    ),
    _Check(
        "autogroup",
        "/proc/sys/kernel/sched_autogroup_enabled",
        "any",
        lambda _: True,
        "decides whether nice works across sessions where there are no control groups",
    ),
    _Check(
        "CPU pressure",
        "/proc/pressure/cpu",
        "some avg10 below 5",
        lambda value: float(value.split("avg10=")[1].split()[0]) < 5,
        "others want the CPUs that the trials are measured on",
    ),
)


def findings() -> list[Finding]:
    """Every check on this machine."""
    return [_look(check) for check in _CHECKS]


def audit() -> dict[str, Any]:
    """The machine in words, and all findings, for environment.json."""
    memory = _field(Path("/proc/meminfo"), "MemTotal") or "0 kB"
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "distribution": _distribution(),
        "cpu": _field(Path("/proc/cpuinfo"), "model name") or platform.processor(),
        "cpu_count": os.cpu_count(),
        "memory_bytes": int(memory.split()[0]) * 1024,
        "hypervisor": "hypervisor" in (_field(Path("/proc/cpuinfo"), "flags") or "").split(),
        "python": platform.python_version(),
        "audit": [asdict(finding) for finding in findings()],
    }


def _look(check: _Check) -> Finding:
    try:
        value = Path(check.file).read_text().strip().splitlines()[0]
    except (OSError, IndexError):
        return Finding(check.name, "", check.wanted, "unavailable", check.why)
    status: Literal["ok", "differs"] = "ok" if check.good(value) else "differs"
    return Finding(check.name, value, check.wanted, status, check.why)


def _field(file: Path, name: str) -> str | None:
    for line in file.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return "unknown"
