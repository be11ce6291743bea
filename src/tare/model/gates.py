"""Gates: the conditions that make a trial count, as manifests set them."""

from collections.abc import Mapping
from typing import Any

from tare.model.base import Record


class Gates(Record):
    """The conditions that make a trial count, as rendered for it. Shares are of 1."""

    achieved_min: float = 0.99
    errors_max: float = 0.0
    little_max: float = 0.05
    foreign_cpu_max: float = 0.05
    steal_max: float = 0.1
    generator_cpu_max: float = 0.97
    """Of the generator's busiest thread, in a closed loop; an open one is judged by its send lag,
    since a generator that polls for the next send is always busy."""
    send_lag_max: float = 0.5
    """Largest share of the latency's p50 and p99 that the send lag's may be, in an open loop."""
    bottleneck: str | None = None
    """The role that a closed loop must have waited for, in variants that have it."""
    bottleneck_min: float = 0.9
    """How busy its CPUs must have been, or how much of its CPU limit it must have used."""
    bottleneck_share_min: float = 0.5
    """Its part of the CPU time of all roles on its CPUs."""
    retries: int = 2


def checked_gates(gates: Mapping[str, Any]) -> None:
    """Raise ValueError for a name that is no field of `Gates`."""
    for name in gates:
        if name not in Gates.model_fields:
            raise ValueError(f"only {', '.join(Gates.model_fields)}, and not {name}")
