"""Resource use over a measured window, scaled from the probes' window to the instrument's."""

from tare.lab.trial.measure import Measurement
from tare.probes.reading import over


def roles(found: Measurement) -> dict[str, dict[str, float]]:
    """Return each role's probes by their names."""
    opened, closed = found.opened.seen.roles, (found.closed.seen | found.held).roles
    return {role: over(first, closed[role], _scale(found)) for role, first in opened.items()}


def machine(found: Measurement) -> dict[str, float]:
    """Return the shares of the test CPUs' time that went to others."""
    return over(found.opened.seen.machine, found.closed.seen.machine, _scale(found))


def probed(found: Measurement) -> dict[str, float]:
    """Return what the experiment's own probe saw."""
    return over(found.opened.own, found.closed.own, _scale(found))


def _scale(found: Measurement) -> float:
    return found.window_s / found.probed_s
