"""Throttling and memory limits of roles."""

from tare.probes.probe import Probe, Role, of_each
from tare.probes.reading import Counter, Reading


def _read(role: Role, at: float) -> dict[str, Reading]:
    found = role.throttling()
    return {
        "throttled_share": Counter(found.throttled_s, of=at * len(role.place.cpus)),
        "throttled_periods_share": Counter(found.throttled_periods, of=found.periods),
        "memory_limit_hits": Counter(found.memory_hits),
    }


PROBE = Probe(("throttled_share", "throttled_periods_share", "memory_limit_hits"), of_each(_read))
