"""Limits of roles that have any, as they were read back."""

from tare.probes.probe import Probe, Role, of_each
from tare.probes.reading import Gauge, Reading


def _read(role: Role, at: float) -> dict[str, Reading]:
    caps = role.place.caps
    found = {
        "limit_cpus": caps.cpus,
        "limit_memory_bytes": caps.memory_bytes,
        "limit_read_bytes_per_s": caps.read_bytes_per_s,
    }
    return {name: Gauge(limit) for name, limit in found.items() if limit is not None}


PROBE = Probe(
    ("limit_cpus", "limit_memory_bytes", "limit_read_bytes_per_s"), of_each(_read), last=True
)
