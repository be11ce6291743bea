"""The gate of a duel's slices: enough rounds must have gone undisturbed."""

from collections.abc import Iterator

from tare.lab.trial.gates.gate import Conditions, Finding, Gate
from tare.model.gates import Gates
from tare.stats.rounding import percent


def _slices(limits: Gates, window: Conditions) -> Iterator[Finding]:
    slices = window.result.slices
    if slices is not None:
        kept = slices.kept / slices.rounds if slices.rounds else 0.0
        yield Finding(
            kept >= limits.slices_kept_min,
            f"{percent(kept, 1)} of {slices.rounds} rounds undisturbed",
            f"at least {percent(limits.slices_kept_min)}",
        )


SLICES = Gate("slices", _slices)
