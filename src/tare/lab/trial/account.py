"""What roles and others used over a measured window, from the probes at its ends."""

from collections.abc import Sequence

from tare.lab.project.hooks import Since
from tare.lab.trial.bottleneck import Use
from tare.lab.trial.measure import Measurement


def roles(found: Measurement) -> dict[str, dict[str, float]]:
    """Probes of each role, scaled from the probes' window to the instrument's."""
    return {role: _role(found, role) for role in found.opened.cpu}


def _role(found: Measurement, role: str) -> dict[str, float]:
    scale, place = found.window_s / found.probed_s, found.places[role]
    opened, closed = found.opened, found.closed
    used = closed.cpu[role].since(opened.cpu[role])
    first, last = opened.switches[role], closed.switches[role]
    strain = closed.strain[role].since(opened.strain[role])
    values = {
        "cpu_us": used.total_s * scale * 1e6,
        "cpu_user_us": used.user_s * scale * 1e6,
        "cpu_system_us": used.system_s * scale * 1e6,
        "cpu_share": used.total_s / found.probed_s,
        "switches_voluntary": (last.voluntary - first.voluntary) * scale,
        "switches_involuntary": (last.involuntary - first.involuntary) * scale,
        "memory_bytes": found.memory[role].memory_bytes,
        "peak_bytes": found.memory[role].peak_bytes,
        "throttled_share": strain.throttled_s / found.probed_s / len(place.cpus),
        "throttled_periods_share": strain.throttled_periods / (strain.periods or 1),
        "memory_limit_hits": strain.memory_hits * scale,
    }
    limits = {
        "limit_cpus": place.caps.cpus,
        "limit_memory_bytes": place.caps.memory_bytes,
        "limit_read_bytes_per_s": place.caps.read_bytes_per_s,
    }
    return values | {name: limit for name, limit in limits.items() if limit is not None}


def probed(found: Measurement) -> dict[str, float]:
    """What the experiment's own probe saw, scaled likewise what grows."""
    scale = found.window_s / found.probed_s
    first, last = found.opened.own, found.closed.own
    return {
        key: float(value) if isinstance(value, Since) else (value - first.get(key, 0.0)) * scale
        for key, value in last.items()
    }


def uses(found: Measurement) -> dict[str, Use]:
    """Each role's part of the CPUs on which it may run."""
    return {
        role: Use(
            frozenset(place.cpus),
            found.closed.cpu[role].since(found.opened.cpu[role]).total_s / found.probed_s,
            place.caps.cpus,
        )
        for role, place in found.places.items()
    }


def machine(found: Measurement, tested: Sequence[int]) -> dict[str, float]:
    """Shares of the test CPUs' time that went to others."""
    capacity = found.probed_s * len(tested)
    used = found.closed.machine.used_s - found.opened.machine.used_s
    steal = found.closed.machine.steal_s - found.opened.machine.steal_s
    ours = sum(
        found.closed.cpu[role].since(found.opened.cpu[role]).total_s for role in found.opened.cpu
    )
    foreign = max(0.0, used - ours)
    return {"foreign_share": foreign / capacity, "steal_share": steal / capacity}
