"""Gates: the conditions that make a trial count, as manifests set them."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import field_validator

from tare.model.base import Record
from tare.model.fields import close_match

Kind = Literal["load", "generator", "steady-state", "machine", "bottleneck", "analysis"]
"""What a gate judges: that the load was not too high for the server, that the generator kept up,
that there was a steady state, that the machine was quiet, which role a loop waited for, or that an
analysis came to an end."""

KINDS: Mapping[str, Kind] = {
    "errors": "load",
    "requests": "load",
    "achieved": "load",
    "send-lag": "generator",
    "generator": "generator",
    "overlap": "generator",
    "little": "steady-state",
    "slices": "machine",
    "foreign-cpu": "machine",
    "steal": "machine",
    "probe-delay": "machine",
    "bottleneck": "bottleneck",
}
"""Every gate that manifests may set, and its kind."""


class Gates(Record):
    """The conditions that make a trial count, as rendered for it. Shares are of 1."""

    achieved_min: float = 0.99
    errors_max: float = 0.0
    little_max: float = 0.05
    slices_kept_min: float = 0.5
    """Rounds of a duel that must count."""
    foreign_cpu_max: float = 0.05
    steal_max: float = 0.1
    probe_delay_max: float = 0.03
    """Of the window: how late probes of other hosts may be read."""
    generator_cpu_max: float = 0.97
    """Of the generator's busiest thread, in a closed loop; an open one is judged by its send lag,
    since a generator that polls for the next send is always busy."""
    send_lag_max: float = 0.5
    """Largest share of the latency's p50 and p99 that the send lag's may be, in an open loop."""
    overlap_min: float = 0.97
    """Of the window: how much of it all of several generators must have had together."""
    bottleneck: str | None = None
    """The role that a closed loop must have waited for, in variants that have it."""
    bottleneck_min: float = 0.9
    """How busy its CPUs must have been, or how much of its CPU limit it must have used."""
    bottleneck_share_min: float = 0.5
    """Its part of the CPU time of all roles on its CPUs."""
    retries: int = 2
    """How often a trial that a gate refuses is repeated."""
    off: dict[str, str] = {}
    """Gates that let everything pass, and why, in words."""

    @field_validator("off")
    @classmethod
    def _off(cls, off: dict[str, str]) -> dict[str, str]:
        for name, reason in off.items():
            _checked_off(name, reason)
        return off


def checked_gates(gates: Mapping[str, Any]) -> None:
    """Raise ValueError for a name that is no field of `Gates`, for an unknown gate that is off, and
    for one without a reason; a reason that is a template may come to nothing.
    """
    for name in gates:
        if name not in Gates.model_fields:
            raise ValueError(f"only {', '.join(Gates.model_fields)}, and not {name}")
    off = gates.get("off", {})
    if not isinstance(off, Mapping):
        raise ValueError("off to be a table of gates, each with a reason")
    for name, reason in off.items():
        _checked_off(name, reason)


def _checked_off(name: str, reason: Any) -> None:
    if name not in KINDS:
        only = f"off to have only {', '.join(KINDS)}"
        raise ValueError(f"{only}, and not {name!r}{close_match(name, KINDS)}")
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError(f"off.{name} to be a reason in words, and not {reason!r}")
