"""The audit of a machine: what it is, and what on it makes measurements noisy or biased."""

import os
import platform
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tare.probes.groups import own_paths
from tare.probes.settings import Setting, settings

Status = Literal["ok", "differs", "unavailable", "denied"]
_PRESSURE_MAX_PCT = 5.0
_STEAL_MAX_PCT = 1.0
_UNLIMITED = ("max", "-1", "9223372036854771712", "max 100000")
_LIMITS = ("cpu.max", "memory.max", "cpu.cfs_quota_us", "memory.limit_in_bytes")


@dataclass(frozen=True)
class Finding:
    """One property: its value, the value wanted, and why it matters."""

    name: str
    value: str
    wanted: str
    status: Status
    why: str


@dataclass(frozen=True)
class _State:
    """A property of the machine that is no setting, so that tare cannot change it."""

    name: str
    look: Callable[[Path], tuple[str, bool]]
    """Its value and whether that is good. May raise OSError and ValueError."""
    wanted: str
    why: str


def findings(servers: Collection[int], root: Path = Path("/")) -> list[Finding]:
    """Everything on this machine, whose servers are measured on the CPUs `servers`."""
    return [
        *(_of_setting(setting, root) for setting in settings(servers)),
        *(_of_state(state, root) for state in _STATES),
    ]


def audit(servers: Collection[int]) -> dict[str, Any]:
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
        "audit": [asdict(finding) for finding in findings(servers)],
    }


def advice(servers: Collection[int]) -> list[str]:
    """Return the settings that disturb, each with its value, a better one, and why."""
    return [
        f"{each.name} is {each.value}, better {each.wanted}: {each.why}"
        for each in findings(servers)
        if each.status == "differs"
    ]


def _of_setting(setting: Setting, root: Path) -> Finding:
    def made(value: str, status: Status) -> Finding:
        return Finding(setting.name, value, setting.wanted, status, setting.why)

    try:
        values = list(setting.values(root).values())
    except PermissionError:
        return made("", "denied")
    if not values:
        return made("", "unavailable")
    return made(_in_words(values), "ok" if all(map(setting.good, values)) else "differs")


def _in_words(values: Sequence[str]) -> str:
    """The values of all files, the most frequent first."""
    counted = Counter(values).most_common()
    if len(values) == 1:
        return values[0]
    return ", ".join(f"{value} ({count} of {len(values)})" for value, count in counted[:3]) + (
        ", …" if len(counted) > 3 else ""
    )


def _of_state(state: _State, root: Path) -> Finding:
    try:
        value, good = state.look(root)
    except PermissionError:
        return Finding(state.name, "", state.wanted, "denied", state.why)
    except (OSError, ValueError, IndexError):
        return Finding(state.name, "", state.wanted, "unavailable", state.why)
    return Finding(state.name, value, state.wanted, "ok" if good else "differs", state.why)


def _pressure(root: Path) -> tuple[str, bool]:
    some = (root / "proc/pressure/cpu").read_text().splitlines()[0]
    share = float(some.split("avg10=")[1].split()[0])
    return f"{share:g} % of the last 10 s", share < _PRESSURE_MAX_PCT


def _steal(root: Path) -> tuple[str, bool]:
    ticks = [int(field) for field in (root / "proc/stat").read_text().splitlines()[0].split()[1:9]]
    share = 100 * ticks[7] / sum(ticks)
    return f"{share:.2g} % since boot", share < _STEAL_MAX_PCT


def _irqbalance(root: Path) -> tuple[str, bool]:
    for name in root.glob("proc/[0-9]*/comm"):
        try:
            if name.read_text().strip() == "irqbalance":
                return f"running, pid {name.parent.name}", False
        except OSError:
            continue
    return "not running", True


def _group_limits(root: Path) -> tuple[str, bool]:
    limits = set()
    for controllers, path in own_paths(root / "proc/self/cgroup").items():
        folder = root / "sys/fs/cgroup" / controllers / path.lstrip("/")
        for name in _LIMITS:
            if (folder / name).exists():
                value = (folder / name).read_text().strip()
                if value not in _UNLIMITED:
                    limits.add(f"{name} {value}")
    return ", ".join(sorted(limits)) or "none", not limits


_STATES = (
    _State(
        "irqbalance",
        _irqbalance,
        "not running",
        "it moves interrupts from one CPU to another while a trial runs",
    ),
    _State(
        "CPU pressure",
        _pressure,
        f"below {_PRESSURE_MAX_PCT:g} %",
        "others want the CPUs that the trials are measured on",
    ),
    _State(
        "steal",
        _steal,
        f"below {_STEAL_MAX_PCT:g} %",
        "the hypervisor takes CPU time for others; gates refuse trials that lost too much",
    ),
    _State(
        "limits of the own control group",
        _group_limits,
        "none",
        "a quota stops all trials at once, at the end of each period",
    ),
)


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
