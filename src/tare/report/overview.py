"""The outcomes that an experiment puts side by side: a row a variant, a column an outcome."""

from dataclasses import dataclass

from tare.model.results import Results, ScenarioResult
from tare.report.numbers import NONE, short
from tare.stats.plan_order import BASELINE_AGAIN

NOTE = "In overviews ± is half the 95 % interval of the median, in percent of it."


@dataclass(frozen=True)
class Overview:
    """Column heads, and each variant with a cell a column."""

    heads: list[str]
    rows: list[tuple[str, list[str]]]


def of(results: Results, scenario: ScenarioResult) -> Overview | None:
    """None where the experiment names no outcomes for it, or nothing was measured."""
    measured = {
        label: variant.outcomes
        for label, variant in scenario.variants.items()
        if variant.outcomes and label != BASELINE_AGAIN
    }
    known = {name: item for outcomes in measured.values() for name, item in outcomes.items()}
    names = [name for name in results.overview if name in known]
    if not names:
        return None
    rows = [
        (
            label,
            [
                short(outcomes[name].median, outcomes[name].median_ci) if name in outcomes else NONE
                for name in names
            ],
        )
        for label, outcomes in measured.items()
    ]
    return Overview([f"{known[name].title}, {known[name].unit}" for name in names], rows)


def details(results: Results, scenario: ScenarioResult) -> list[str]:
    """Outcomes that need a table of their own: judged ones, and those that no overview shows."""
    shown = set(results.overview)
    found = {
        name: outcome.judged
        for variant in scenario.variants.values()
        for name, outcome in variant.outcomes.items()
    }
    # In the experiment's order: the first variant need not have the first outcome.
    return [
        name
        for name in scenario.noise_floor
        if name in found and (found[name] or name not in shown)
    ]
