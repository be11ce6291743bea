"""report.html: one file, no script, nothing fetched."""

from functools import partial
from importlib.resources import files

from jinja2 import Environment
from markupsafe import Markup

from tare.model.results import Results, ScenarioResult, SlopeResult
from tare.report import overview, slopes
from tare.report.folder import RunFolder
from tare.report.numbers import NONE, figure, percent
from tare.report.pairs import by_outcome
from tare.report.table import notes
from tare.report.titles import beside, label_title, titles
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import two_digits


def render(folder: RunFolder, results: Results) -> str:
    """The whole page."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"bar": partial(_bar, _reach(results)), "two_digits": two_digits}
    template = environment.from_string(files("tare.report").joinpath("report.html.j2").read_text())
    return template.render(
        results=results,
        plan=folder.plan,
        files=folder.environment.get("files", {}),
        trials=folder.trials,
        none_such=NONE,
        figure=figure,
        percent=percent,
        notes=notes(results),
        pairs=partial(by_outcome, results),
        titles=titles(results),
        side_by_side=partial(overview.of, results),
        details=partial(overview.details, results),
        nameless=overview.nameless,
        slopes=slopes,
        drawn=_drawn(folder, results),
        control=CONTROL,
        label_title=partial(label_title, results),
        beside=partial(beside, results),
    )


def _drawn(folder: RunFolder, results: Results) -> dict[str, list[Markup]]:
    """Scenario → its charts: slopes, judged outcomes and latencies.

    With too few blocks for an interval there is nothing that a chart could show and a table not.
    """
    outcomes = {scenario.name: _with_interval(scenario) for scenario in results.scenarios}
    sloped = {scenario.name: _sloped(scenario) for scenario in results.scenarios}
    if not any([*outcomes.values(), *sloped.values()]):
        return {}
    from tare.report import charts, drawing  # takes a second to import

    return {
        scenario.name: [
            Markup(drawing.svg(chart))
            for chart in (
                *(charts.dose_response(results, scenario, item) for item in sloped[scenario.name]),
                *(charts.outcome(results, scenario, name) for name in outcomes[scenario.name]),
                charts.latency(folder, results, scenario),
            )
            if chart is not None
        ]
        for scenario in results.scenarios
        if outcomes[scenario.name] or sloped[scenario.name]
    }


def _with_interval(scenario: ScenarioResult) -> list[str]:
    """Judged outcomes of which at least one variant's effect has an interval."""
    found = [
        name
        for variant in scenario.variants.values()
        for name, outcome in variant.outcomes.items()
        if outcome.judged and outcome.ci_pct is not None
    ]
    return list(dict.fromkeys(found))


def _sloped(scenario: ScenarioResult) -> list[SlopeResult]:
    """Slopes of which at least one has an interval."""
    return [
        item
        for item in scenario.slopes
        if any(each.ci is not None for each in item.variants.values())
    ]


def _reach(results: Results) -> float:
    """The percentage at the ends of the interval plots: all judged intervals fit."""
    bounds = [
        abs(bound)
        for scenario in results.scenarios
        for variant in scenario.variants.values()
        for outcome in variant.outcomes.values()
        if outcome.judged
        for bound in outcome.ci_pct or ()
    ]
    return max([results.margin_pct * 1.5, *bounds])


def _bar(reach: float, percentage: float) -> float:
    """Return the position of a percentage on a plot from 0 to 100."""
    return 50 + 50 * max(-1.0, min(1.0, percentage / reach))
