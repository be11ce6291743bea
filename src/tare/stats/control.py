"""The A/A control as the check on a run: it must not differ from the baseline that it is."""

from collections.abc import Sequence

from tare.stats.blocks import BlockedTrials, Key, criteria_of
from tare.stats.dose_response import Slopes
from tare.stats.holm import holm
from tare.stats.plan_order import CONTROL
from tare.stats.verdict import Comparison, Direction, Judgement, judge_family


def judge_control(scenarios: Sequence[BlockedTrials]) -> dict[Key, Judgement]:
    """Scenario and outcome → the verdict of the A/A control, as if it were a variant.

    It is the check on the run, not a finding; one run is checked once, so that all its scenarios
    with all their ratios and slopes are one family, and a sound run raises a false alarm once in
    twenty at most.
    """
    ratios = {
        (each.scenario.name, outcome): Comparison(
            CONTROL,
            outcome,
            Direction(each.plan.outcomes[outcome].better),
            floor.effect,
            None,
        )
        for each in scenarios
        for outcome in each.judged()
        if (floor := each.floor(outcome)) is not None
    }
    slopes = {
        (each.scenario.name, outcome): (found, difference)
        for each in scenarios
        for outcome in each.plan.judged
        if each.plan.outcomes[outcome].is_slope
        for found in [Slopes(each.plan, each.scenario, outcome, each.trials)]
        if (difference := found.difference(CONTROL, each.plan.baseline)) is not None
    }
    p_slopes = [difference.p for _, difference in slopes.values()]
    p_ratios = [comparison.effect.p for comparison in ratios.values()]
    made: dict[Key, Judgement] = {}
    if ratios:
        criteria = criteria_of(scenarios[0].plan)
        judged = judge_family(list(ratios.values()), criteria, beside=p_slopes)
        made |= zip(ratios, judged, strict=True)
    adjusted = holm([*p_slopes, *p_ratios])[: len(slopes)]
    for (key, (found, difference)), p in zip(slopes.items(), adjusted, strict=True):
        made[key] = found.verdict(difference, p)
    return made
