"""The noise floor: what the comparison shows where there is nothing to show."""

from collections.abc import Sequence
from dataclasses import dataclass

from tare.stats.effect import Effect, paired_effect, to_percent
from tare.stats.power import minimum_detectable
from tare.stats.sequential import LONGER


@dataclass(frozen=True)
class NoiseFloor:
    """The effect of the baseline on itself, by the estimator that judges the variants."""

    effect: Effect
    at_every_look: bool = False
    """Whether variants are judged by the test that may be looked at after every block."""

    @property
    def reach(self) -> float | None:
        """The farthest the interval reaches from 0, as a log ratio; `None` without interval."""
        interval = self.effect.interval
        return None if interval is None else max(abs(interval.low), abs(interval.high))

    @property
    def percent(self) -> float | None:
        """The floor in percent: an effect that does not exceed it is no finding."""
        return None if self.reach is None else to_percent(self.reach)

    @property
    def detectable_percent(self) -> float | None:
        """The smallest effect that so many blocks find in about four of five runs, if any."""
        # That test takes more blocks to find the same effect.
        n = int(self.effect.n / LONGER) if self.at_every_look else self.effect.n
        return to_percent(minimum_detectable(self.effect.spread, n)) if n >= 2 else None


def noise_floor(control: Sequence[float], baseline: Sequence[float]) -> NoiseFloor:
    """The floor from the blocks' values of the A/A control and baseline, equally many of each.

    Errors as of `paired_log_ratios`.
    """
    return NoiseFloor(paired_effect(control, baseline))
