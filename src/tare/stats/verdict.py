"""From effects to verdicts: costs, saves, equivalent or unresolved.

Sources: Holm (1979) for the family of comparisons; Schuirmann (1987), J. Pharmacokinet. Biopharm.
15(6):657-680, for equivalence by two one-sided tests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tare.stats import sequential
from tare.stats.effect import Effect, from_percent, to_percent
from tare.stats.floor import NoiseFloor
from tare.stats.holm import holm
from tare.stats.power import blocks_needed, blocks_to_detect
from tare.stats.rounding import change_text, counted, reach_text

BIASED = "where the A/A control itself differs from the baseline"
"""The end of the reason of an effect below a noise floor that no further blocks lower."""


class Direction(StrEnum):
    """The direction in which an outcome is better."""

    LOWER = "lower"
    HIGHER = "higher"


class Verdict(StrEnum):
    """The verdict of a comparison."""

    COSTS = "costs"
    SAVES = "saves"
    EQUIVALENT = "equivalent"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True)
class Criteria:
    """The thresholds that a verdict needs.

    `alpha` bounds the chance of any false costs or saves in a family, `margin_percent` is the
    smallest effect of interest: an effect surely within it is equivalent. `at_every_look` is true
    of effects from `effect_so_far`, whose test takes other numbers of blocks.
    """

    alpha: float = 0.05
    margin_percent: float = 2.0
    at_every_look: bool = False

    def fewest_blocks(self, comparisons: int) -> int:
        """Return the fewest blocks that can show a difference among so many comparisons."""
        if self.at_every_look:
            return sequential.fewest_for(self.alpha / comparisons)
        return blocks_needed(comparisons, self.alpha)


@dataclass(frozen=True)
class Comparison:
    """One variant in one outcome of a scenario, against the baseline.

    `floor` is the outcome's noise floor; `None` for the A/A control itself, which would never
    exceed its own, and for outcomes that a control cannot have.
    """

    variant: str
    outcome: str
    better: Direction
    effect: Effect
    floor: NoiseFloor | None


@dataclass(frozen=True)
class Judgement:
    """A verdict, the Holm-adjusted p, the reason in words, and roughly what would resolve it.

    `more_blocks` is `None` where the verdict is clear, where more blocks would not help, and where
    so many as were made should have been enough.
    """

    verdict: Verdict
    p_adjusted: float
    why: str
    more_blocks: int | None = None


def judge_family(
    comparisons: Sequence[Comparison],
    criteria: Criteria = Criteria(),
    beside: Sequence[float] = (),
) -> list[Judgement]:
    """Judge all comparisons of one family together, in the order given. `beside` are the p-values
    of its other members, which are judged elsewhere. The reason also names two modes that are
    farther apart than the margin.

    Holm's correction runs over all of them, so leave out what nobody will read.
    """
    adjusted = holm([*(comparison.effect.p for comparison in comparisons), *beside])
    judged = [
        judge(comparison, p, len(adjusted), criteria)
        for comparison, p in zip(comparisons, adjusted[: len(comparisons)], strict=True)
    ]
    return [
        replace(found, why=found.why + _bimodal(comparison.effect, criteria))
        for comparison, found in zip(comparisons, judged, strict=True)
    ]


def judge(
    comparison: Comparison, p_adjusted: float, family: int, criteria: Criteria = Criteria()
) -> Judgement:
    """Judge one comparison of a family of so many, given its Holm-adjusted p.

    *costs* or *saves*: `p_adjusted` ≤ alpha, the interval excludes 0 and the estimate exceeds the
    noise floor. Else *equivalent*: the interval lies within the margin, ±ln(1 + margin) on the log
    scale so that swapping variant and baseline changes nothing (2 % is -1.96 % to +2 %). With a
    95 % interval this is two one-sided tests at 2.5 % each. Else *unresolved*.
    """
    effect, floor = comparison.effect, comparison.floor
    interval = effect.interval
    if interval is None:
        more = criteria.fewest_blocks(family) - effect.n
        return Judgement(Verdict.UNRESOLVED, p_adjusted, effect.missing, more if more > 0 else None)
    margin = from_percent(criteria.margin_percent)
    within = f"within ±{criteria.margin_percent:g} %"
    reach = None if floor is None else floor.reach
    cleared = floor is None or (reach is not None and abs(effect.log_ratio) > reach)
    if p_adjusted <= criteria.alpha and interval.excludes(0) and cleared:
        worse = (effect.log_ratio > 0) == (comparison.better is Direction.LOWER)
        why = f"p {p_adjusted:.2g} after Holm"
        if reach is not None:
            why += f", above the noise floor of {reach_text(to_percent(reach))}"
        if interval.inside(margin):
            why += f", though {within}"
        return Judgement(Verdict.COSTS if worse else Verdict.SAVES, p_adjusted, why)
    if interval.inside(margin):
        return Judgement(Verdict.EQUIVALENT, p_adjusted, f"the interval lies {within}")
    why, more_blocks = _doubt(comparison, p_adjusted, family, criteria)
    return Judgement(Verdict.UNRESOLVED, p_adjusted, why, more_blocks)


def _doubt(
    comparison: Comparison, p_adjusted: float, family: int, criteria: Criteria
) -> tuple[str, int | None]:
    """Return why an effect is unresolved, and roughly how many more blocks would help."""
    effect, floor = comparison.effect, comparison.floor
    assert effect.interval is not None
    fewest = criteria.fewest_blocks(family)
    if effect.interval.excludes(0) and effect.n < fewest:
        own, all_of = counted(effect.n, "block"), counted(family, "comparison")
        why = f"{own} cannot show a difference among {all_of}: it takes {fewest}"
        more = fewest - effect.n
        if floor is None or floor.reach is None or abs(effect.log_ratio) > floor.reach:
            return why, more
        below, lowering = _below(effect, floor)
        return f"{why}; the effect is {below}", lowering and max(more, lowering)
    if not effect.interval.excludes(0) or p_adjusted > criteria.alpha:
        target = max(abs(effect.log_ratio), from_percent(criteria.margin_percent))
        needed = blocks_to_detect(effect.spread, target, criteria.alpha / family)
        if criteria.at_every_look:
            needed = math.ceil(sequential.LONGER * needed)
        more = needed - effect.n
        why = f"p {p_adjusted:.2g} after Holm over {counted(family, 'comparison')}"
        if not effect.interval.excludes(0):
            why = f"the interval contains 0 and reaches beyond ±{criteria.margin_percent:g} %"
        return why, more if more > 0 else None
    assert floor is not None
    if floor.effect.interval is None or floor.reach is None:
        return f"there is no noise floor: {floor.effect.missing}", None
    return _below(effect, floor)


def _below(effect: Effect, floor: NoiseFloor) -> tuple[str, int | None]:
    """Return that an effect is below the floor, and roughly how many more blocks would lower it."""
    assert floor.effect.interval is not None and floor.reach is not None
    why = f"below the noise floor of {reach_text(to_percent(floor.reach))}"
    if floor.effect.interval.excludes(0):
        return f"{why}, {BIASED}", None
    # The floor falls with √n.
    needed = math.ceil(floor.effect.n * (floor.reach / effect.log_ratio) ** 2)
    return why, max(1, needed - effect.n)


def _bimodal(effect: Effect, criteria: Criteria) -> str:
    """Return what is to be said of two modes, to be appended to a reason."""
    modes = effect.modes
    if modes is None or modes.gap <= from_percent(criteria.margin_percent):
        return ""
    change = change_text(to_percent(modes.apart))
    return f"; bimodal: in {modes.few} of {modes.n} blocks it is {change} than in the others"
