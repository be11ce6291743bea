"""Slopes: their part of results.json, and their texts."""

from collections.abc import Mapping

from tare.model.results import Growth, SlopeOfVariant, SlopePair, SlopeResult
from tare.report.alike import is_open
from tare.report.numbers import figure
from tare.stats.blocks import BlockedTrials, Key
from tare.stats.dose_response import Slopes
from tare.stats.interval import Interval
from tare.stats.location import Location
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import two_digits
from tare.stats.verdict import Judgement

NOTE = (
    "A slope is the cost of each further unit of a dose; the cost without any dose is fixed. "
    "Slopes are compared by their differences within blocks. Holm's correction covers a scenario's "
    "variants, and its pairs."
)


def slopes(paired: BlockedTrials, control: Mapping[Key, Judgement]) -> list[SlopeResult]:
    """One of each outcome that is a slope and was measured in the scenario. `control` has, under
    its label and each outcome, the verdict of the A/A control.
    """
    found = [
        Slopes(paired.plan, paired.scenario, name, paired.trials)
        for name in paired.plan.reported
        if paired.plan.outcomes[name].is_slope
    ]
    return [_result(paired, each, control) for each in found if each.labels()]


def _result(paired: BlockedTrials, found: Slopes, control: Mapping[Key, Judgement]) -> SlopeResult:
    outcome = found.outcome
    parameter, response = found.of_what()
    return SlopeResult(
        outcome=found.name,
        title=outcome.title,
        unit=outcome.unit,
        better=outcome.better,
        parameter=parameter,
        response=paired.plan.outcomes[response].title,
        response_unit=paired.plan.outcomes[response].unit,
        floor=found.floor(),
        variants=_variants(found, control.get((CONTROL, found.name))),
        pairs=[
            SlopePair(
                variant=variant,
                against=other,
                difference=difference.estimate,
                ci=_ends(difference.interval),
                p_adjusted=judgement.p_adjusted,
                verdict=judgement.verdict.value,
                why=judgement.why,
                blocks=difference.n,
            )
            for (variant, other), (difference, judgement) in found.judge_pairs().items()
        ],
    )


def _variants(found: Slopes, of_control: Judgement | None) -> dict[str, SlopeOfVariant]:
    judged: dict[str, tuple[Location, Judgement | None]] = {**found.judge()}
    if (difference := found.difference(CONTROL, found.plan.baseline)) is not None:
        judged[CONTROL] = difference, of_control
    made = {}
    for label in found.labels():
        slope, bend, fixed = found.slope(label), found.bend(label), found.intercept(label)
        baseline = found.plan.baseline_of(label)
        beyond = found.intercept_difference(label, baseline) if label != baseline else None
        difference, judgement = judged.get(label, (None, None))
        made[label] = SlopeOfVariant(
            slope=slope.estimate,
            ci=_ends(slope.interval),
            bend=bend and bend.estimate,
            bend_ci=bend and _ends(bend.interval),
            bends=bool(bend and bend.interval and bend.interval.excludes(0)),
            growth=[
                Growth(dose=dose, value=at.estimate, ci=_ends(at.interval))
                for dose, at in found.growth(label).items()
            ],
            intercept=fixed.estimate,
            intercept_ci=_ends(fixed.interval),
            intercept_difference=beyond and beyond.estimate,
            intercept_difference_ci=beyond and _ends(beyond.interval),
            difference=difference and difference.estimate,
            difference_ci=difference and _ends(difference.interval),
            p_adjusted=judgement and judgement.p_adjusted,
            verdict=judgement and judgement.verdict.value,
            why=judgement and judgement.why,
            blocks=slope.n,
        )
    return made


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return (interval.low, interval.high) if interval else None


def ranked(result: SlopeResult) -> list[str]:
    """Labels from the best slope to the worst, the A/A control last."""
    sign = 1 if result.better == "lower" else -1
    own = [label for label in result.variants if label != CONTROL]
    control = [label for label in result.variants if label == CONTROL]
    return sorted(own, key=lambda label: sign * result.variants[label].slope) + control


def alike(result: SlopeResult, label: str) -> str:
    """Return the variants from which this one is indistinguishable, in words."""
    names = [
        pair.against if pair.variant == label else pair.variant
        for pair in result.pairs
        if label in (pair.variant, pair.against)
        and pair.verdict == "unresolved"
        and not is_open(pair.difference, pair.ci, result.floor)
    ]
    return f"indistinguishable from {', '.join(names)}" if names else ""


def bending(found: SlopeOfVariant, unit: str) -> str:
    """Return a warning if a response is no straight line."""
    return f"bends by {figure(found.bend, found.bend_ci)} {unit}" if found.bends else ""


def fixed(result: SlopeResult, label: str, baseline: str) -> str:
    """Return the cost without any dose, and by how much it exceeds the baseline's, in words."""
    own = result.variants[label]
    if own.intercept is None:
        return ""
    fixed_part = figure(own.intercept, own.intercept_ci)
    said = f"{fixed_part} {result.response_unit} without {result.parameter}"
    if own.intercept_difference is None:
        return said
    more = figure(own.intercept_difference, own.intercept_difference_ci)
    return f"{said}, {more} beyond {baseline}'s"


def heading(result: SlopeResult) -> str:
    """Return title, unit, range of doses, better direction and noise floor."""
    floor = (
        "" if result.floor is None else f", noise floor {two_digits(result.floor)} {result.unit}"
    )
    doses = next(iter(result.variants.values())).growth
    reach = f"{doses[0].dose:g} to {doses[-1].dose:g}"
    return (
        f"{result.title}, {result.unit}: slope of {result.response} "
        f"over {result.parameter} {reach} ({result.better} is better{floor})"
    )


def remarks(result: SlopeResult, label: str) -> str:
    """Return the remarks on a variant beside its figures."""
    found = result.variants[label]
    said = (alike(result, label), bending(found, result.unit))
    return "; ".join(filter(None, said))
