"""The figures that `stats` and `watch` show of a running variant."""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tare.lab.errors import TareError
from tare.lab.run.instances import Instance
from tare.model.manifest import Counters
from tare.probes.cpu import CpuTime
from tare.probes.machine import MachineCpu, machine_cpu
from tare.probes.process import Usage, usage


@dataclass(frozen=True)
class Reading:
    """All probes of a running variant, and of the machine, at one moment."""

    at: float
    cpu: dict[str, CpuTime]
    usage: dict[str, Usage]
    counters: dict[str, int]
    kinds: Counters
    machine: MachineCpu


def reading(instance: Instance) -> Reading:
    """Read everything once. Raises TareError if a role has ended: it has no figures any more."""
    try:
        counters, kinds = instance.counters()
        found = Reading(
            at=time.monotonic(),
            cpu={name: role.cpu_time() for name, role in instance.roles.items()},
            usage={name: usage(role.pids()) for name, role in instance.roles.items()},
            counters=counters,
            kinds=kinds,
            machine=machine_cpu(),
        )
    except (TareError, OSError):
        instance.ensure_alive()
        raise
    instance.ensure_alive()
    return found


def rates(name: str, first: Reading, last: Reading) -> dict[str, Any]:
    """Rates between two readings, and the amounts held at the second."""
    seconds = last.at - first.at
    counted = {
        key: (last.counters[key] - first.counters[key]) / seconds
        for key in last.counters
        # A counter may be there only once it has counted.
        if key in first.counters and not last.kinds.is_gauge(key)
    }
    return {
        "name": name,
        "seconds": seconds,
        "requests_per_second": last.kinds.answered(counted),
        "counters": last.counters,
        "counters_per_second": counted,
        "roles": {
            role: {
                "cpu_percent": last.cpu[role].since(first.cpu[role]).total_s / seconds * 100,
                "memory_bytes": last.usage[role].memory_bytes,
                "switches_voluntary_per_second": (
                    last.usage[role].switches_voluntary - first.usage[role].switches_voluntary
                )
                / seconds,
                "switches_involuntary_per_second": (
                    last.usage[role].switches_involuntary - first.usage[role].switches_involuntary
                )
                / seconds,
            }
            for role in last.cpu
        },
        "machine": {
            f"{part.removesuffix('_s')}_percent": used / seconds * 100
            for part, used in asdict(last.machine.since(first.machine)).items()
        },
    }


def lines(now: dict[str, Any]) -> Iterator[str]:
    """The same for reading."""
    rate = now["requests_per_second"]
    counted = "it counts no requests" if rate is None else f"{rate:,.0f} requests/s"
    yield f"{now['name']}: {counted}"
    yield f"  {'role':12} {'CPU %':>7} {'memory':>10} {'switches/s':>11} {'forced/s':>9}"
    for role, item in now["roles"].items():
        yield (
            f"  {role:12} {item['cpu_percent']:7.1f} {item['memory_bytes'] / 1e6:7.1f} MB "
            f"{item['switches_voluntary_per_second']:11,.0f} "
            f"{item['switches_involuntary_per_second']:9,.0f}"
        )
    part = {name.removesuffix("_percent"): value for name, value in now["machine"].items()}
    stolen = f", steal {part['steal']:.1f}" if part["steal"] else ""
    yield (
        f"  machine, CPU %: user {part['user']:.1f}, system {part['system']:.1f} "
        f"(kernel threads {part['kernel_threads']:.1f}), "
        f"interrupts {part['interrupts']:.1f}{stolen}"
    )
    for key, value in now["counters"].items():
        rate = now["counters_per_second"].get(key)
        yield f"  {key:12} {value:,}" + ("" if rate is None else f" ({rate:,.0f}/s)")
