"""A run as statistics: trials paired within blocks, effects, floors and verdicts."""

import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from tare.model.given_up import absent, counting, given_up, hopeless, out_of_range
from tare.model.scenario import Scenario
from tare.model.trial import Plan, PlannedTrial, Trial
from tare.stats.effect import Effect, effect_of, effect_so_far, paired_log_ratios
from tare.stats.floor import NoiseFloor
from tare.stats.late import late
from tare.stats.plan_order import CONTROL, block_order
from tare.stats.rounding import counted
from tare.stats.verdict import Comparison, Criteria, Direction, Judgement, Verdict, judge_family

Key = tuple[str, str]
"""Label (or scenario) and outcome."""
Pair = tuple[str, str, str]
"""A variant, the one it is compared with, and the outcome."""


def planned_trials(plan: Plan, block: int) -> list[PlannedTrial]:
    """List what block `block` (from 0) measures, in order: scenario after scenario, each shuffled.

    A variant and its baseline stay close in time, since each scenario's trials stand together.
    """
    found = []
    for index, scenario in enumerate(plan.scenarios):
        seed = plan.seed ^ zlib.crc32(scenario.name.encode())
        for label in block_order(planned_variants(plan), seed, block):
            name = f"b{block:02d}-s{index}-{label}"
            found.append(
                PlannedTrial(
                    block=block,
                    scenario=scenario.name,
                    label=label,
                    variant=plan.variant_of(label),
                    id=name,
                )
            )
    return found


def planned_variants(plan: Plan) -> list[str]:
    """Return the variants that have trials planned for themselves: in duels all but the baseline,
    which is there anyway, beside each of the others.
    """
    return plan.variants[1:] if plan.pairing == "slices" else plan.variants


@dataclass(frozen=True)
class BlockedTrials:
    """The comparisons that the valid trials of one scenario allow."""

    plan: Plan
    scenario: Scenario
    trials: Sequence[Trial]
    """In the order of their making."""

    @cached_property
    def own(self) -> Sequence[Trial]:
        """The scenario's trials, each with a status that says whether it counts."""
        return counting([each for each in self.trials if each.scenario == self.scenario.name])

    @cached_property
    def _late(self) -> set[tuple[str, int]]:
        """Labels, each with a block, that are left out of a test that looks after every block."""
        if self.plan.until != "resolved":
            return set()
        names = late(self.own)
        return {(trial.label, trial.block) for trial in self.own if trial.id in names}

    @cached_property
    def _values(self) -> Mapping[Key, Mapping[int, float]]:
        """Label and outcome → block → value, of the valid trials."""
        found: dict[Key, dict[int, float]] = defaultdict(dict)
        for trial in self.own:
            if trial.status != "valid":
                continue
            for outcome, value in trial.outcomes.items():
                if value is not None:
                    found[trial.label, outcome][trial.block] = value
        return found

    def values(self, label: str, outcome: str) -> list[float]:
        """One value per valid trial that is shown under the label, in block order."""
        found = [
            (trial.block, value)
            for trial in self.own
            if trial.shown_as == label
            and trial.status == "valid"
            and (value := trial.outcomes.get(outcome)) is not None
        ]
        return [value for _, value in sorted(found)]

    def effect(self, label: str, outcome: str) -> Effect | None:
        """Against its baseline, over the blocks in which both were valid; None without any.

        A zero on either side has no ratio, and leaves its block out. A slope has none at all.
        """
        return self._paired(
            self._positive(label, outcome), self._positive(self.plan.opponent_of(label), outcome)
        )

    def between(self, label: str, other: str, outcome: str) -> Effect | None:
        """The same against another label that is not its baseline; in duels, by how far each is
        from their common one.
        """
        if self.plan.pairing == "slices":
            return self._paired(self.ratios(label, outcome), self.ratios(other, outcome))
        return self._paired(self._positive(label, outcome), self._positive(other, outcome))

    def _positive(self, label: str, outcome: str) -> Mapping[int, float]:
        """Block → value above 0, of those that are not late; none of a slope."""
        if self.plan.outcomes[outcome].is_slope:
            return {}
        found = self._values.get((label, outcome), {})
        return {
            block: value
            for block, value in found.items()
            if value > 0 and (label, block) not in self._late
        }

    def ratios(self, label: str, outcome: str) -> Mapping[int, float]:
        """Block → the value in the units of the baseline's in the same duel."""
        own = self._positive(label, outcome)
        base = self._positive(self.plan.opponent_of(label), outcome)
        return {block: own[block] / base[block] for block in own if block in base}

    def _paired(self, own: Mapping[int, float], base: Mapping[int, float]) -> Effect | None:
        blocks = sorted(own.keys() & base.keys())
        if not blocks:
            return None
        ratios = paired_log_ratios(
            [own[block] for block in blocks], [base[block] for block in blocks]
        )
        return effect_so_far(ratios) if self.plan.until == "resolved" else effect_of(ratios)

    def floor(self, outcome: str) -> NoiseFloor | None:
        """Return the A/A control's effect against its baseline; None if they never both counted."""
        effect = self.effect(CONTROL, outcome)
        return None if effect is None else NoiseFloor(effect, self.plan.until == "resolved")

    def judged(self) -> list[str]:
        """Names of the outcomes that get a verdict in this scenario."""
        return judged(self.plan)

    def judge(self) -> dict[Key, Judgement]:
        """Verdicts of all variants in all judged outcomes, as one family."""
        comparisons: list[Comparison] = []
        verdicts: dict[Key, Judgement] = {}
        criteria = criteria_of(self.plan)
        for outcome in self.judged():
            floor = self.floor(outcome)
            better = Direction(self.plan.outcomes[outcome].better)
            for variant in self.plan.variants[1:]:
                effect = self.effect(variant, outcome)
                if effect is not None and (floor is not None or uncontrolled(self.plan, outcome)):
                    comparisons.append(Comparison(variant, outcome, better, effect, floor))
                elif effect is not None:
                    why = "there is no noise floor: no trial of the A/A control counted"
                    verdicts[variant, outcome] = Judgement(Verdict.UNRESOLVED, 1.0, why)
        for comparison, found in zip(comparisons, judge_family(comparisons, criteria), strict=True):
            own = (comparison.variant, self.plan.opponent_of(comparison.variant))
            verdicts[comparison.variant, comparison.outcome] = self._but_for_late(own, found)
        return verdicts

    def _but_for_late(self, labels: Sequence[str], found: Judgement) -> Judgement:
        """Return a judgement that also says how many pairs of these labels are left out."""
        blocks = {block for label, block in self._late if label in labels}
        if not blocks:
            return found
        pairs = counted(len(blocks), "pair")
        return replace(found, why=f"{found.why}; left out: {pairs} made after later ones")

    def judge_pairs(self) -> dict[Pair, tuple[Effect, Judgement]]:
        """Each variant against each that stands before it in the plan and has the same baseline,
        the baseline apart, in all judged outcomes: a family of its own, beside that of `judge`.
        """
        criteria = criteria_of(self.plan)
        family: dict[Pair, Comparison] = {}
        for outcome in self.judged():
            floor, better = self.floor(outcome), Direction(self.plan.outcomes[outcome].better)
            for other, variant in comparable_pairs(self.plan):
                effect = self.between(variant, other, outcome)
                if effect is not None and (floor is not None or uncontrolled(self.plan, outcome)):
                    comparison = Comparison(variant, outcome, better, effect, floor)
                    family[variant, other, outcome] = comparison
        verdicts = judge_family(list(family.values()), criteria)
        return {
            pair: (family[pair].effect, self._but_for_late(self._sides(*pair[:2]), found))
            for pair, found in zip(family, verdicts, strict=True)
        }

    def _sides(self, label: str, other: str) -> list[str]:
        """Return the labels whose trials make the pairs of two variants."""
        own = [label, other]
        return own + [self.plan.opponent_of(each) for each in own if self.plan.pairing == "slices"]

    def awaited(self) -> list[Key]:
        """The comparisons that the run waits for; a variant that failed awaits none, nor is one
        awaited of which a side does not have the outcome, as without a proxy its CPU time, or whose
        outcome has no ratio, as errors of which there are none.
        """
        failed = {t.variant for t in self.own if t.status in ("failed", "unavailable")}
        return self._pairable([name for name in self.plan.variants[1:] if name not in failed])

    def _pairable(self, labels: Sequence[str]) -> list[Key]:
        """Those of the labels' awaited outcomes that may get further pairs."""
        over = given_up(self.plan, self.scenario.name, self.own)
        lost = hopeless(self.own) | absent(self.own).keys() | out_of_range(self.own).keys()
        awaited = [name for name in self.judged() if name in self.plan.awaited]
        return [
            (label, outcome)
            for label in labels
            if label not in over and (self.scenario.name, self.plan.baseline_of(label)) not in lost
            for outcome in awaited
            if self._may_have(label, outcome)
            and self._may_have(self.plan.opponent_of(label), outcome)
            and not self._has_no_ratio(label, outcome)
        ]

    def unresolved(self) -> list[Key]:
        """The awaited comparisons without a verdict; a variant that is surely beyond a limit of a
        gate has none of them.
        """
        verdicts = self.judge()
        return [
            (variant, outcome)
            for variant, outcome in self.awaited()
            if not self._beyond(variant)
            and not self._settled(variant, outcome, verdicts.get((variant, outcome)))
        ]

    def resolved(self) -> int:
        """Return how many of the judged comparisons have a verdict."""
        return sum(found.verdict is not Verdict.UNRESOLVED for found in self.judge().values())

    def decided(self) -> int:
        """Return how many of a gate's limits, one for each variant, are surely kept or exceeded."""
        return sum(
            self._settled(variant, outcome, None)
            for variant, outcome in self.awaited()
            if outcome in self.plan.limits
        )

    def _may_have(self, label: str, outcome: str) -> bool:
        """Return false if trials of the label counted and none of them could name the outcome."""
        counted = any(own == label for own, _ in self._values)
        return not counted or (label, outcome) in self._values

    def _has_no_ratio(self, label: str, outcome: str) -> bool:
        """Return true if a side was 0 in all of so many pairs as give an interval."""
        own = self._values.get((label, outcome), {})
        pairs = own.keys() & self._values.get((self.plan.opponent_of(label), outcome), {}).keys()
        enough = criteria_of(self.plan).fewest_blocks(1)
        return len(pairs) >= enough and self.effect(label, outcome) is None

    def has_values(self, outcome: str) -> bool:
        """Return false if trials counted and none of them could name the outcome."""
        return not self._values or any(name == outcome for _, name in self._values)

    def _beyond(self, variant: str) -> bool:
        return any(
            worse is not None and worse[0] > limit
            for outcome, limit in self.plan.limits.items()
            for worse in [self._worse(variant, outcome)]
        )

    def _settled(self, variant: str, outcome: str, found: Judgement | None) -> bool:
        limit, worse = self.plan.limits.get(outcome), self._worse(variant, outcome)
        if limit is None:
            return found is not None and found.verdict is not Verdict.UNRESOLVED
        return worse is not None and (worse[0] > limit or worse[1] < limit)

    def _worse(self, variant: str, outcome: str) -> tuple[float, float] | None:
        """By how much the variant is worse in percent, at least and at most, if that is known."""
        effect = self.effect(variant, outcome)
        if effect is None or effect.percent_interval is None:
            return None
        return worse_by(effect.percent_interval, self.plan.outcomes[outcome].better)

    def watched(self) -> list[Effect | None]:
        """The effects whose intervals decide when there are enough blocks, the A/A control's among
        them; None for one that no pair has measured yet.

        A variant that failed is out: no number of blocks narrows what is not measured.
        """
        return [self.effect(*each) for each in [*self.awaited(), *self._pairable([CONTROL])]]


def criteria_of(plan: Plan) -> Criteria:
    """Return the thresholds of a plan's verdicts."""
    return Criteria(margin_percent=plan.margin_pct, at_every_look=plan.until == "resolved")


def worse_by(interval: tuple[float, float], better: str) -> tuple[float, float]:
    """Return an effect's interval in percent as how much worse it is, at least and at most."""
    low, high = interval
    return (low, high) if better == Direction.LOWER else (-high, -low)


def judged(plan: Plan) -> list[str]:
    """Return the outcomes that are judged by ratios; slopes get their verdicts by themselves
    (`tare.stats.dose_response`).
    """
    return [name for name in plan.judged if not plan.outcomes[name].is_slope]


def uncontrolled(plan: Plan, outcome: str) -> bool:
    """Return true if the A/A control can have no value of the outcome: where it compares one
    running process with itself, what that process uses cannot be split.
    """
    return plan.running and any(path.source == "role" for path in plan.outcomes[outcome].paths)


def comparable_pairs(plan: Plan) -> list[tuple[str, str]]:
    """Return the pairs of variants with one baseline, none of them that baseline."""
    names = [name for name in plan.variants if name not in (plan.baseline, plan.baseline_of(name))]
    return [
        (other, name)
        for other, name in combinations(names, 2)
        if plan.baseline_of(other) == plan.baseline_of(name)
        and other not in plan.baselines.values()
        and name not in plan.baselines.values()
    ]
