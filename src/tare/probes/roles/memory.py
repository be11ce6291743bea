"""Memory that roles hold."""

from tare.probes.probe import Probe, Role, of_each
from tare.probes.process import usage
from tare.probes.reading import Gauge, Reading


def _read(role: Role, at: float) -> dict[str, Reading]:
    held = usage(role.pids())
    return {"memory_bytes": Gauge(held.memory_bytes), "peak_bytes": Gauge(held.peak_bytes)}


PROBE = Probe(("memory_bytes", "peak_bytes"), of_each(_read), last=True)
