"""Trials in order of time: whether the machine stayed as it was."""

import math
from datetime import datetime
from statistics import median
from typing import Any

import altair as alt

from tare.model.results import Results, ScenarioResult
from tare.model.trial import Trial
from tare.report.charts import frame, palette
from tare.report.charts.ticks import labels, ratio_ticks
from tare.report.folder import RunFolder
from tare.report.titles import unit_title
from tare.stats.plan_order import CONTROL

_HEIGHT = 150
_ROOM = 1.02
_MOST = 240
"""Marks: more of them would cover each other, and make the page large."""


def trials(
    folder: RunFolder, results: Results, scenario: ScenarioResult, name: str
) -> frame.Chart | None:
    """Return each trial's value of an outcome relative to the median of its variant, by the clock;
    refused trials as crosses; of very many, the medians of groups that follow one another. None if
    fewer than two trials have a positive value.
    """
    own = [trial for trial in folder.trials if trial.scenario == scenario.name]
    values: dict[str, list[float]] = {}
    for trial in own:
        if trial.status == "valid" and (value := trial.outcomes.get(name)) and value > 0:
            values.setdefault(trial.shown_as, []).append(value)
    medians = {label: median(found) for label, found in values.items()}
    started = {trial.id: _minutes(trial) for trial in own}
    if sum(map(len, values.values())) < 2 or None in started.values():
        return None
    first = min(at for at in started.values() if at is not None)
    rows: list[dict[str, Any]] = [
        {
            "at": round((started[trial.id] or 0.0) - first, 3),
            "ratio": value / medians[trial.shown_as],
            "kind": _kind(results, trial),
        }
        for trial in own
        if trial.shown_as in medians and (value := trial.outcomes.get(name)) and value > 0
    ]
    size = math.ceil(len(rows) / _MOST)
    rows = _grouped(rows, size)
    control = frame.name(CONTROL)
    kinds = [results.baseline, control, "another variant", "refused by a gate"]
    colours = [palette.SERIES[0], palette.SERIES[1], palette.QUIET, palette.VERDICTS["costs"]]
    ratios = [row["ratio"] for row in rows]
    low, high = min(ratios) / _ROOM, max(ratios) * _ROOM
    marks = ratio_ticks(low, high, _HEIGHT)
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=2 * frame.LABEL)
    y = alt.Y(
        "ratio:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=marks, labelExpr=labels(marks)),
        title="from its own median",
    )
    points = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(size=26, opacity=1, strokeWidth=1.5)
        .encode(
            x=alt.X("at:Q", title=f"minutes since the first trial{_groups(size)}"),
            y=y,
            color=alt.Color(
                "kind:N", scale=alt.Scale(domain=kinds, range=colours), title=None, legend=legend
            ),
            shape=alt.Shape(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=["circle", "square", "circle", "cross"]),
                title=None,
            ),
        )
    )
    outcome = folder.plan.outcomes[name]
    title = frame.title(
        "Trials in order of time", results, scenario, unit_title(outcome.title, outcome.unit)
    )
    return alt.layer(points).properties(width=frame.WIDTH, height=_HEIGHT, title=title)


def _grouped(rows: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """Return the medians of so many consecutive rows of a kind, of a shorter group at the end."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(row)
    return [
        {key: median(row[key] for row in group) for key in ("at", "ratio")} | {"kind": kind}
        for kind, own in kinds.items()
        for group in (own[at : at + size] for at in range(0, len(own), size))
    ]


def _groups(size: int) -> str:
    return f"; medians of {size} trials" if size > 1 else ""


def _kind(results: Results, trial: Trial) -> str:
    if trial.status != "valid":
        return "refused by a gate"
    if trial.shown_as == CONTROL:
        return frame.name(CONTROL)
    return results.baseline if trial.variant == results.baseline else "another variant"


def _minutes(trial: Trial) -> float | None:
    try:
        at = datetime.fromisoformat(trial.started).timestamp() / 60
    except ValueError:
        return None
    return at if math.isfinite(at) else None
