"""The role that limits a closed loop's throughput (docs/METHODOLOGY.md, "Gates")."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tare.lab.trial.gates.gate import Conditions, Finding, Gate
from tare.model.gates import Gates
from tare.stats.rounding import percent


@dataclass(frozen=True)
class Use:
    """A role's use of the CPUs on which it may run."""

    cpus: frozenset[tuple[str, int]]
    """Each with the machine that it is of."""
    used: float
    """CPU seconds a second."""
    limit: float | None = None
    """The most that it was allowed, in the same unit."""


def _bottleneck(limits: Gates, window: Conditions) -> Iterator[Finding]:
    """Check that a closed loop waited for the role that its manifest names."""
    load, wanted = window.result.load, limits.bottleneck
    closed = load is not None and load.loop == "closed"
    if closed and wanted is not None and wanted in window.places:
        slices = window.result.slices
        # In a duel the roles are one side's, and every other slice is the other's.
        loaded = slices.share / 2 if slices is not None else 1.0
        available = (1 - window.machine["steal_share"]) * loaded
        if available <= 0:  # every round was disturbed, or all time stolen: other gates say so
            return
        yield judged(wanted, limits, _uses(window), available)


def _uses(window: Conditions) -> dict[str, Use]:
    return {
        role: Use(
            frozenset((place.machine, cpu) for cpu in place.cpus),
            window.roles[role]["cpu_share"],
            place.caps.cpus,
        )
        for role, place in window.places.items()
    }


def judged(wanted: str, limits: Gates, uses: Mapping[str, Use], available: float) -> Finding:
    """Return whether the role `wanted`, one of `uses`, was what the loop waited for.

    `available` is the share of its CPUs' time that was there to be used, and had a load.
    """
    ok, found = _judge(wanted, limits, uses, available)
    return Finding(ok, found, f"{wanted}, at least {percent(limits.bottleneck_min)} busy")


def _judge(
    wanted: str, limits: Gates, uses: Mapping[str, Use], available: float
) -> tuple[bool, str]:
    own, busy = uses[wanted], {role: _busy(role, uses, available) for role in uses}
    told = {role: percent(share) for role, share in busy.items()}
    first = max(busy, key=lambda role: busy[role])
    if busy[first] > busy[wanted]:
        return False, f"{first}, {told[first]} busy where {wanted} was {told[wanted]}"
    if busy[wanted] < limits.bottleneck_min:
        return False, f"none: {wanted} was the busiest with {told[wanted]}, so the loop waited"
    if _of_limit(own) >= limits.bottleneck_min:
        return True, f"{wanted}, which used {percent(_of_limit(own))} of its CPU limit"
    beside = {role: item.used for role, item in uses.items() if item.cpus & own.cpus}
    part = own.used / sum(beside.values())
    if part < limits.bottleneck_share_min:
        most = max(beside, key=lambda role: beside[role])
        return False, f"{most}: {wanted} had only {percent(part)} of the CPU time that they shared"
    return True, f"{wanted}, {told[wanted]} busy, {percent(part)} of it by itself"


def _busy(role: str, uses: Mapping[str, Use], available: float) -> float:
    """Return the busy share of its CPUs, by all roles on them, or the used share of its limit."""
    own = uses[role]
    on_them = sum(item.used for item in uses.values() if item.cpus & own.cpus)
    return max(on_them / (len(own.cpus) * available), _of_limit(own))


def _of_limit(own: Use) -> float:
    return own.used / own.limit if own.limit else 0.0


BOTTLENECK = Gate("bottleneck", _bottleneck)
