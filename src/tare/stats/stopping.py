"""The stopping rule of a run: its intervals are narrow enough, whatever they say.

A run may go on until every verdict is there instead, if its test is one that may be looked at
after every block (`tare.stats.sequential`). With any other test, this rule sees widths and counts,
never a p-value or the sign of an estimate: looking at p after every block and stopping once it is
small finds differences where there are none (Armitage, McPherson & Rowe 1969, J. R. Stat. Soc. A
132(2):235-244).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tare.stats.effect import Effect


class Stop(StrEnum):
    """The decision to make another block, or why not."""

    GO_ON = "go-on"
    NARROW = "narrow"
    RESOLVED = "resolved"
    TIME = "time"
    MOST_BLOCKS = "most-blocks"


@dataclass(frozen=True)
class StoppingRule:
    """At least `min_blocks`, at most `max_blocks`, else until half-widths are ≤ `half_width`.

    `half_width` is a fraction: 0.01 is one percent. Raises ValueError for a rule that contradicts
    itself.
    """

    min_blocks: int = 8
    max_blocks: int = 40
    half_width: float = 0.01

    def __post_init__(self) -> None:
        if not 1 <= self.min_blocks <= self.max_blocks or not self.half_width > 0:
            raise ValueError(f"a stopping rule needs 1 ≤ min ≤ max and a width above 0: {self}")

    def decide(self, watched: Sequence[Effect | None], blocks: int) -> Stop:
        """Decide what to do after `blocks` blocks, given the watched comparisons' effects so far.

        An effect from fewer than `min_blocks` valid pairs, or without an interval, is not narrow,
        nor is one that no pair has measured (None).
        """
        if blocks >= self.max_blocks:
            return Stop.MOST_BLOCKS
        if blocks >= self.min_blocks and all(self._narrow(effect) for effect in watched):
            return Stop.NARROW
        return Stop.GO_ON

    def _narrow(self, effect: Effect | None) -> bool:
        return (
            effect is not None
            and effect.n >= self.min_blocks
            and effect.interval is not None
            and math.expm1(effect.interval.half_width) <= self.half_width
        )
