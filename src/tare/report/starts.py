"""The part of what differs from duel to duel that differs within one already."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tare.model.instrument import StandardErrors
from tare.model.outcome import Outcome
from tare.model.results import Results, ScenarioResult, WithinResult
from tare.report.sentence import in_sentence
from tare.report.titles import titles
from tare.stats.blocks import BlockedTrials
from tare.stats.plan_order import CONTROL
from tare.stats.within import Duels, within


def of_scenario(paired: BlockedTrials) -> dict[str, WithinResult]:
    """Judged outcome → the share of its variance that is within duels, of all variants together,
    where the load generator told the spread within each.
    """
    if paired.plan.pairing != "slices":
        return {}
    labels = [*paired.plan.variants[1:], CONTROL]
    found = {}
    for name in paired.judged():
        groups = [_duels(paired, label, name) for label in labels]
        if made := within([each for each in groups if len(each.log_ratios)]):
            interval = made.interval
            found[name] = WithinResult(share=made.share, ci=(interval.low, interval.high))
    return found


def _duels(paired: BlockedTrials, label: str, name: str) -> Duels:
    """Return the duels of a label that have both a ratio and a standard error."""
    errors = {
        trial.block: error
        for trial in paired.trials
        if trial.label == label
        and trial.status == "valid"
        and (error := _error(trial.instrument, paired.plan.outcomes[name])) is not None
    }
    ratios = paired.ratios(label, name)
    blocks = sorted(errors.keys() & ratios.keys())
    return Duels(
        np.log([ratios[block] for block in blocks]), np.array([errors[block] for block in blocks])
    )


def _error(instrument: Mapping[str, Any], outcome: Outcome) -> float | None:
    """Return the standard error of a duel's log ratio of this outcome, if it was told."""
    told = (instrument.get("slices") or {}).get("standard_errors")
    if told is None or len(outcome.paths) != 1:
        return None
    errors, (path,) = StandardErrors.model_validate(told), outcome.paths
    match str(path).split("."):
        case ["role", role, "cpu_us"]:
            return errors.cpu_us.get(role)
        case ["role", role, "ordinary_cpu_us"]:
            return errors.ordinary_cpu_us.get(role)
        case ["instrument", "latency_p50_us"]:
            return errors.latency_p50_us
    return None


def lines(results: Results) -> list[str]:
    """Return a footnote for each scenario whose duels told the spread within them."""
    named, several = titles(results), len(results.scenarios) > 1

    def where(scenario: ScenarioResult) -> str:
        return f" in {named[scenario.name]}" if several else ""

    return [
        f"Longer duels would average out a part of the variance between duels"
        f"{where(each)}: {shares}. The rest comes from start to start."
        for each in results.scenarios
        if (shares := _shares(each))
    ]


def _shares(scenario: ScenarioResult) -> str:
    title = {
        name: outcome.title
        for variant in scenario.variants.values()
        for name, outcome in variant.outcomes.items()
    }

    def told(found: WithinResult) -> str:
        share, low, high = (f"{100 * each:.0f}" for each in (found.share, *found.ci))
        return f"{share} % [{low}, {high}]"

    return ", ".join(
        f"{in_sentence(title[name])} {told(found)}" for name, found in scenario.within.items()
    )
