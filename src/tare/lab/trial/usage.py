"""Resource use over a measured window, scaled from the probes' window to the instrument's."""

from tare.lab.trial.measure import Measurement
from tare.model.instrument import ORDINARY_CPU
from tare.probes.reading import over

_CPU = ("cpu_us", "cpu_user_us", "cpu_system_us")


def roles(found: Measurement) -> dict[str, dict[str, float]]:
    """Return each role's probes by their names.

    A side of a duel has the CPU time per request of the rounds that count, for all requests of the
    window: disturbed rounds are left out, and the borders are sharp. It has `ordinary_cpu_us`, too.
    """
    opened, closed = found.opened.seen.roles, (found.closed.seen | found.held).roles
    seen = {role: over(first, closed[role], _scale(found)) for role, first in opened.items()}
    rounds = found.result.rounds
    if rounds is None or not rounds.requests:
        return seen
    share = found.result.requests / rounds.requests
    for role, cpu_us in rounds.cpu_us.items():
        if role in seen and seen[role]["cpu_us"] > 0:
            factor = cpu_us * share / seen[role]["cpu_us"]
            seen[role] |= {name: seen[role][name] * factor for name in _CPU}
    if rounds.ordinary is not None and rounds.ordinary.requests:
        share = found.result.requests / rounds.ordinary.requests
        for role, cpu_us in rounds.ordinary.cpu_us.items():
            if role in seen:
                seen[role][ORDINARY_CPU] = cpu_us * share
    return seen


def machine(found: Measurement) -> dict[str, float]:
    """Return the shares of the test CPUs' time that went to others."""
    return over(found.opened.seen.machine, found.closed.seen.machine, _scale(found))


def probed(found: Measurement) -> dict[str, float]:
    """Return what the experiment's own probe saw."""
    return over(found.opened.own, found.closed.own, _scale(found))


def _scale(found: Measurement) -> float:
    return found.window_s / found.probed_s
