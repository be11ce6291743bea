"""Latency against load: the windows of the searches for a capacity, and where they ended."""

from statistics import median
from typing import Any

import altair as alt

from tare.model.results import Results, ScenarioResult
from tare.report.charts import frame, palette
from tare.report.folder import RunFolder
from tare.stats.plan_order import CONTROL

_KIND = "capacity"
"""The analysis that searches, and its note beside the instrument's result."""


def load(folder: RunFolder, results: Results, scenario: ScenarioResult) -> frame.Chart | None:
    """Return all undisturbed windows of all searches, the limit, and each variant's median knee;
    None if nothing was searched.
    """
    found = [
        (trial.label, trial.instrument[_KIND])
        for trial in folder.trials
        if trial.scenario == scenario.name
        and trial.status == "valid"
        and trial.label != CONTROL
        and _KIND in trial.instrument
    ]
    rows = [
        {"label": label, "rate": window["rate"], "value": window["value"]}
        for label, search in found
        for window in search["windows"]
        if window["value"] and not window["spoilt"]
    ]
    if not rows:
        return None
    labels = list(dict.fromkeys(label for label, _ in found))
    knees: list[dict[str, Any]] = [
        {"label": label, "rate": median(rates)}
        for label in labels
        if (rates := [search["rate"] for name, search in found if name == label and search["rate"]])
    ]
    colours, _ = palette.series(len(labels))
    scale = alt.Scale(domain=labels, range=colours)
    legend = alt.Legend(labelLimit=frame.LABEL)
    colour = alt.Color("label:N", scale=scale, sort=labels, title=None, legend=legend)
    x = alt.X("rate:Q", scale=alt.Scale(type="log", nice=False), title="requests per second")
    y = alt.Y("value:Q", scale=alt.Scale(type="log", nice=False), title="latency of a window, µs")
    source = alt.Chart(alt.InlineData(values=rows))
    limit = alt.InlineData(values=[{"value": found[0][1]["limit"]}])
    layers = (
        source.mark_point(filled=True, size=22, opacity=1).encode(x=x, y=y, color=colour),
        alt.Chart(limit).mark_rule(color=palette.MARGIN, strokeDash=[3, 3]).encode(y=y),
        alt.Chart(alt.InlineData(values=knees)).mark_rule(strokeWidth=2).encode(x=x, color=colour),
    )
    more = "dashed: the limit; upright: each variant's capacity"
    title = frame.title("Latency against load", results, scenario, more)
    return alt.layer(*layers).properties(width=frame.WIDTH, height=240, title=title)
