"""Every probe, in the order in which they are read."""

from functools import reduce

from tare.probes.probe import Probe, Scene, Seen
from tare.probes.roles import cpu, limits, memory, switches, throttling

PROBES: tuple[Probe, ...] = (
    cpu.PROBE,
    switches.PROBE,
    throttling.PROBE,
    memory.PROBE,
    limits.PROBE,
)
NAMES = tuple(name for probe in PROBES for name in probe.names)
"""All that there is to know of a role, as outcomes call it behind `role.ROLE.`."""


def read(scene: Scene) -> Seen:
    """Read the probes that are read at both ends of a window."""
    return _all([probe for probe in PROBES if not probe.last], scene)


def read_last(scene: Scene) -> Seen:
    """Read those that are read when it has closed."""
    return _all([probe for probe in PROBES if probe.last], scene)


def _all(probes: list[Probe], scene: Scene) -> Seen:
    return reduce(Seen.__or__, (probe.read(scene) for probe in probes), Seen())
