"""Variants that a run does not try again in a scenario, and the labels that end with them."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tare.model.trial import CONTROL, Plan, Trial

FAILURES_MAX = 2
"""A variant that failed so often in a scenario is not tried there again."""


def hopeless(trials: Iterable[Trial]) -> set[tuple[str, str]]:
    """Return the scenarios, each with a variant, in which that failed too often."""
    failures = Counter((each.scenario, each.variant) for each in trials if each.status == "failed")
    return {which for which, count in failures.items() if count >= FAILURES_MAX}


def absent(trials: Iterable[Trial]) -> dict[tuple[str, str], str]:
    """Return scenario and variant → the first reason why it is unavailable there."""
    found: dict[tuple[str, str], str] = {}
    for each in trials:
        if each.status == "unavailable":
            found.setdefault((each.scenario, each.variant), each.reason or "")
    return found


def out_of_range(trials: Iterable[Trial]) -> dict[tuple[str, str], str]:
    """Return scenario and variant → the first reason why an answer of it lies outside the range
    that is searched.
    """
    found: dict[tuple[str, str], str] = {}
    for each in trials:
        if each.is_out_of_range:
            found.setdefault((each.scenario, each.variant), each.reason or "")
    return found


def counting(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials, none of them valid whose variant has an answer outside the range in its
    scenario: those within it alone would make a high answer lower, and a low one higher.
    """
    beyond = out_of_range(trials)
    return [
        each.model_copy(update={"status": "invalid", "reason": why})
        if each.status == "valid" and (why := beyond.get((each.scenario, each.variant)))
        else each
        for each in trials
    ]


def needs(plan: Plan, label: str) -> list[str]:
    """Return the variants without which no trial of a label can be made: its own, and in duels its
    baseline and that of the A/A control, without which nothing is judged.
    """
    own = plan.variant_of(label)
    if plan.pairing != "slices":
        return [own]
    return list(dict.fromkeys([own, plan.baseline_of(label), plan.baseline]))


def given_up(plan: Plan, scenario: str, trials: Iterable[Trial]) -> set[str]:
    """Return the labels of which the scenario gets no more trials.

    A baseline that failed too often ends all of them; one that is unavailable, or of which the
    answer lies outside the range, ends duels only.
    """
    known = [trial for trial in trials if trial.scenario == scenario]
    failed = {variant for _, variant in hopeless(known)}
    lost = failed | {variant for _, variant in absent(known).keys() | out_of_range(known).keys()}
    return {
        label
        for label in [*plan.variants, CONTROL]
        if plan.baseline in failed or lost & {*needs(plan, label)}
    }


def unavailable_baseline(baseline: str, reason: str) -> str:
    """Return why a variant is unavailable whose baseline is."""
    return f"its baseline {baseline} is unavailable: {reason}"


def baseline_failed(baseline: str) -> str:
    """Return the reason of a variant that was never tried, since its baseline failed."""
    return f"not measured: its baseline {baseline} failed"
