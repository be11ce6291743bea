"""All pictures of a run, as they are exported."""

from collections.abc import Iterator
from dataclasses import dataclass

import altair as alt

from tare.model.results import Results
from tare.report.charts.cpu import cpu
from tare.report.charts.forest import forest, slope_forest
from tare.report.charts.frame import Chart
from tare.report.charts.latency import latency
from tare.report.charts.load import load
from tare.report.charts.medians import medians
from tare.report.charts.slopes import dose_response
from tare.report.charts.summary import summary
from tare.report.charts.trials import trials
from tare.report.folder import RunFolder
from tare.report.ranking import rankings


@dataclass(frozen=True)
class Picture:
    """One chart and what to call it."""

    name: str
    chart: Chart


def pictures(folder: RunFolder, results: Results) -> list[Picture]:
    """Return the effects of each judged outcome, a panel a scenario, then what explains them, and
    the medians of all outcomes.
    """
    return [*_effects(folder, results), *_scenarios(folder, results), *_medians(folder, results)]


def _effects(folder: RunFolder, results: Results) -> Iterator[Picture]:
    for name in folder.plan.judged:
        yield from _stacked(
            f"effects-{name}",
            [
                forest(results, scenario, name)
                for scenario in results.scenarios
                if name in scenario.noise_floor
            ]
            + [
                slope_forest(results, scenario, slope)
                for scenario in results.scenarios
                for slope in scenario.slopes
                if slope.outcome == name
            ],
        )
    if (chart := summary(results)) is not None:
        yield Picture("summary", chart)


def _scenarios(folder: RunFolder, results: Results) -> Iterator[Picture]:
    for scenario in results.scenarios:
        for slope in scenario.slopes:
            drawn = dose_response(results, scenario, slope)
            yield Picture(f"{slope.outcome}-{scenario.name}", drawn)
        for name, chart in (
            ("latency-by-percentile", latency(folder, results, scenario)),
            ("latency-by-load", load(folder, results, scenario)),
            ("cpu", cpu(folder, results, scenario)),
            *(
                (f"trials-{each.name}", trials(folder, results, scenario, each.name))
                for each in rankings(results, scenario)[:1]
            ),
        ):
            if chart is not None:
                yield Picture(f"{name}-{scenario.name}", chart)


def _medians(folder: RunFolder, results: Results) -> Iterator[Picture]:
    for name in folder.plan.outcomes:
        yield from _stacked(
            name, [medians(results, scenario, name) for scenario in results.scenarios]
        )


def _stacked(name: str, panels: list[Chart | None]) -> Iterator[Picture]:
    known = [panel for panel in panels if panel is not None]
    if known:
        yield Picture(name, alt.vconcat(*known, spacing=28) if len(known) > 1 else known[0])
