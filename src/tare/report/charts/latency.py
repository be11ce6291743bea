"""Latency by percentile of all requests of a scenario."""

import math
from typing import Any

import altair as alt

from tare.model.results import Results, ScenarioResult
from tare.report.charts import frame, palette
from tare.report.folder import RunFolder
from tare.stats.histogram import Histogram
from tare.stats.plan_order import CONTROL

_TICKS = {2: "50", 10: "90", 100: "99", 1000: "99.9", 10_000: "99.99", 100_000: "99.999"}
_STEPS_OF_TEN = 8
"""Points of the curve between two ticks of the axis."""


def latency(folder: RunFolder, results: Results, scenario: ScenarioResult) -> frame.Chart | None:
    """Return one line a variant, the A/A control dashed; None where no histogram was kept."""
    lines = {
        label: _curve(whole)
        for label in scenario.variants
        if (whole := folder.latency(scenario.name, label)) is not None
    }
    if not any(lines.values()):
        return None
    plain = [label for label in lines if label != CONTROL]
    control = frame.name(CONTROL)
    named = [*plain, *([control] if CONTROL in lines else [])]
    points: list[dict[str, Any]] = [
        {"label": control if label == CONTROL else label, "tail": tail, "us": value}
        for label, curve in lines.items()
        for tail, value in curve
    ]
    colours, dashes = palette.series(len(plain))
    end = max(point["tail"] for point in points)
    ticks = [tick for tick in _TICKS if tick <= end * 1.01]
    words = " : ".join(f"datum.value == {tick} ? '{_TICKS[tick]}'" for tick in ticks)
    x = alt.X(
        "tail:Q",
        scale=alt.Scale(type="log", nice=False, domain=[1 / 0.9, end]),
        axis=alt.Axis(values=ticks, labelExpr=f"{words} : ''", title="percentile"),
    )
    times = [point["us"] for point in points]
    low, high = min(times) / 1.15, max(times) * 1.15
    marks = [digit * 10.0**power for power in range(-3, 12) for digit in (1, 2, 5)]
    y = alt.Y(
        "us:Q",
        scale=alt.Scale(type="log", nice=False, domain=[low, high]),
        axis=alt.Axis(values=[mark for mark in marks if low <= mark <= high], format=",~g"),
        title="latency, µs",
    )
    shades = alt.Scale(domain=named, range=[*colours, palette.QUIET][: len(named)])
    strokes = alt.Scale(domain=named, range=[*dashes, [4, 4]][: len(named)])
    legend = alt.Legend(labelLimit=frame.LABEL)
    line = (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=alt.Color("label:N", scale=shades, sort=named, title=None, legend=legend),
            strokeDash=alt.StrokeDash("label:N", scale=strokes, sort=named, title=None),
        )
    )
    title = frame.title("Latency by percentile", results, scenario, "all requests that count")
    return alt.layer(line).properties(width=frame.WIDTH, height=240, title=title)


def _curve(whole: Histogram) -> list[tuple[float, float]]:
    """1 / (1 − q) and the q-quantile in µs, from the 10th percentile as far as it can be named."""
    points = []
    for step in range(5 * _STEPS_OF_TEN + 1):
        tail = max(1 / 0.9, math.pow(10, step / _STEPS_OF_TEN))
        if (value := whole.quantile(1 - 1 / tail)) is not None:
            points.append((round(tail, 4), value / 1e3))
    return points
