"""The end of a run: how many blocks a plan needs for a verdict, and when it has made enough."""

from collections.abc import Container, Iterable, Sequence

from tare.model.trial import Plan, Trial
from tare.stats.blocks import BlockedTrials, criteria_of, judged
from tare.stats.late import late
from tare.stats.rounding import counted
from tare.stats.stopping import Stop, StoppingRule


def comparisons(plan: Plan) -> int:
    """Return the size of the family that each scenario judges by ratios."""
    return len(judged(plan)) * (len(plan.variants) - 1)


def _largest_family(plan: Plan) -> int:
    """Return how many comparisons a scenario corrects for together at most. Each judged slope is a
    family of its own.
    """
    has_slopes = len(judged(plan)) < len(plan.judged)
    return max(comparisons(plan), (len(plan.variants) - 1) * has_slopes)


def fewest_blocks(plan: Plan) -> int:
    """The plan's smallest number of blocks, or more where so many could show nothing."""
    family = _largest_family(plan)
    fewest = criteria_of(plan).fewest_blocks(max(family, 1))
    return fewest if plan.until == "resolved" else max(plan.blocks.min, fewest if family else 1)


def earliest_verdict(plan: Plan) -> int:
    """The fewest blocks that give an interval, which alone can say that an effect is equivalent or
    that a gate's limit is kept.
    """
    return criteria_of(plan).fewest_blocks(1)


def earliest_end(plan: Plan) -> int:
    """The fewest blocks after which the run may end."""
    if plan.until == "resolved":
        return min(earliest_verdict(plan), plan.blocks.max)
    return min(fewest_blocks(plan), plan.blocks.max)


def shortage(plan: Plan) -> str | None:
    """Return why the plan's blocks give no effect, however large, a verdict, or decide no limit;
    None if they can.
    """
    family, most, criteria = _largest_family(plan), plan.blocks.max, criteria_of(plan)
    if plan.limits:
        fewest, what = earliest_verdict(plan), "cannot decide a limit"
    elif family:
        among = counted(family, "comparison")
        fewest, what = criteria.fewest_blocks(family), f"cannot show a difference among {among}"
        what += " of a scenario" if len(plan.scenarios) > 1 else ""
    else:
        return None
    return f"{counted(most, 'block')} {what}: it takes {fewest}" if most < fewest else None


def stop(plan: Plan, trials: Iterable[Trial], blocks: int) -> Stop:
    """Decide what to do after `blocks` whole blocks, by their trials. `trials` are all that are
    stored, in the order of their making.
    """
    stored = list(trials)
    known = [trial for trial in stored if trial.block < blocks]
    if plan.until == "resolved":
        return _until_resolved(plan, known, late(stored), blocks)
    fewest = min(fewest_blocks(plan), plan.blocks.max)
    rule = StoppingRule(fewest, plan.blocks.max, plan.blocks.target_half_width_pct / 100)
    # Before and after that the rule looks at the count alone.
    looks = fewest <= blocks < plan.blocks.max
    watched = [
        effect
        for scenario in plan.scenarios
        if looks
        for effect in BlockedTrials(plan, scenario, known).watched()
    ]
    found = rule.decide(watched, blocks)
    return Stop.TIME if found is Stop.GO_ON and is_over(plan, known) else found


def _until_resolved(
    plan: Plan, trials: Sequence[Trial], without: Container[str], blocks: int
) -> Stop:
    """Stop when every awaited verdict is there, `without` late trials, or the plan's blocks or its
    time are used up.
    """
    if blocks >= plan.blocks.max:
        return Stop.MOST_BLOCKS
    in_time = [trial for trial in trials if trial.id not in without]
    scenarios = [BlockedTrials(plan, scenario, in_time) for scenario in plan.scenarios]
    if not any(each.unresolved() for each in scenarios):
        return Stop.RESOLVED
    return Stop.TIME if is_over(plan, trials) else Stop.GO_ON


def is_over(plan: Plan, trials: Iterable[Trial]) -> bool:
    """Return true if the plan's time is used up, so that no trial begins any more."""
    left = granted_s(plan, trials)
    return left is not None and left <= 0


def granted_s(plan: Plan, trials: Iterable[Trial]) -> float | None:
    """Return the seconds that are left of the plan's time, if it has one."""
    if plan.within_s is None:
        return None
    # Both sides of a duel have its time.
    return plan.within_s - sum(each.wall_s for each in trials if each.label == each.shown_as)
