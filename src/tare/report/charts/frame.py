"""The common parts of all charts: their type, size, titles and scales."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from tare.model.results import Results, ScenarioResult
from tare.report.charts.palette import FLOOR, QUIET, VERDICTS
from tare.report.titles import titles
from tare.stats.plan_order import CONTROL

Chart = alt.LayerChart | alt.FacetChart | alt.VConcatChart
WIDTH, ROW = 270, 22
"""Pixels of a plot and of a row; a chart fits a telephone's width."""
LABEL = 130
"""Pixels that a variant's name may take."""


def name(label: str) -> str:
    """Return what a chart calls a label: the A/A control in few letters."""
    return "A/A control" if label == CONTROL else label


def title(words: str, results: Results, scenario: ScenarioResult, more: str = "") -> Any:
    """Return a chart's title, with the scenario below it."""
    name = titles(results)[scenario.name] if len(results.scenarios) > 1 else ""
    return alt.TitleParams(
        words,
        subtitle=[each for each in (name, more) if each],
        anchor="start",
        frame="group",
        subtitleColor=QUIET,
    )


def names(order: Sequence[str]) -> Any:
    """Return the axis of variants from above."""
    axis = alt.Axis(labelLimit=LABEL, ticks=False, domain=False)
    return alt.Y("label:N", sort=list(order), title=None, axis=axis)


def verdicts() -> Any:
    """Return the colours of verdicts."""
    scale = alt.Scale(domain=list(VERDICTS), range=list(VERDICTS.values()))
    return alt.Color("state:N", scale=scale, legend=None)


def band(low: float, high: float, x: Any) -> Any:
    """Return a shade between two values, such as the noise floor."""
    return (
        alt.Chart(alt.InlineData(values=[{"low": low, "high": high}]))
        .mark_rect(color=FLOOR)
        .encode(x=x, x2="high:Q")
    )


def lines(at: Sequence[float], x: Any, colour: str, dash: Sequence[int]) -> Any:
    """Return upright lines, such as those of the margin."""
    return (
        alt.Chart(alt.InlineData(values=[{"low": each} for each in at]))
        .mark_rule(color=colour, strokeDash=list(dash), strokeWidth=1)
        .encode(x=x)
    )
