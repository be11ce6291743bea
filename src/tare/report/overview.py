"""The outcomes that an experiment puts side by side: a row a variant, a column an outcome."""

from dataclasses import dataclass

from tare.model.results import OutcomeResult, Results, ScenarioResult
from tare.report.numbers import NONE, short
from tare.report.titles import unit_title
from tare.stats.plan_order import CONTROL

NOTE = "In overviews, ± is half the median's 95 % interval, in percent of the median."


@dataclass(frozen=True)
class Overview:
    """Column heads, and each variant with a cell a column."""

    heads: list[str]
    rows: list[tuple[str, list[str]]]


def of(results: Results, scenario: ScenarioResult) -> Overview | None:
    """Return the overview; None if the study names no outcomes for it or none was measured."""
    measured = {
        label: variant.outcomes
        for label, variant in scenario.variants.items()
        if variant.outcomes and label != CONTROL
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
    return Overview([unit_title(known[name].title, known[name].unit) for name in names], rows)


def details(results: Results, scenario: ScenarioResult) -> list[str]:
    """Outcomes that need a table of their own: judged ones, and those that no overview shows; if
    any variant has a figure of them.
    """
    shown, named = set(results.overview), _named(scenario)
    return [
        name
        for name, outcome in _outcomes(scenario).items()
        if name in named and (outcome.judged or name not in shown)
    ]


def nameless(scenario: ScenarioResult) -> str | None:
    """The outcomes of which no variant has a figure, in a sentence."""
    named = _named(scenario)
    titles = [item.title for name, item in _outcomes(scenario).items() if name not in named]
    if not titles:
        return None
    return f"Not shown: no variant reports it, or too few requests: {'; '.join(titles)}."


def _outcomes(scenario: ScenarioResult) -> dict[str, OutcomeResult]:
    """In the experiment's order: the first variant need not have the first outcome."""
    found = {
        name: item for own in scenario.variants.values() for name, item in own.outcomes.items()
    }
    return {name: found[name] for name in scenario.noise_floor if name in found}


def _named(scenario: ScenarioResult) -> set[str]:
    return {
        name
        for variant in scenario.variants.values()
        for name, outcome in variant.outcomes.items()
        if outcome.median is not None
    }
