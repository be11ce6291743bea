"""A variant's effect from run to run, with its change points."""

from typing import Any

import altair as alt

from tare.model.history import Series
from tare.report.charts import frame, palette

_HEIGHT = 150
_STEP = 14
"""Pixels a run, up to the usual width and beyond where there are many."""
_LEFT_OUT = "left out"


def history(series: Series) -> frame.Chart:
    """Return the effects in order of the runs, the median between change points as a line, and
    each change point upright.
    """
    numbers = {point.run: number for number, point in enumerate(series.points, start=1)}
    rows: list[dict[str, Any]] = [
        {
            "number": numbers[point.run],
            "value": point.value,
            "low": point.ci[0] if point.ci else point.value,
            "high": point.ci[1] if point.ci else point.value,
            "state": _LEFT_OUT if point.left_out else point.verdict,
        }
        for point in series.points
    ]
    states = {**palette.VERDICTS, _LEFT_OUT: palette.QUIET}
    colour = alt.Color(
        "state:N",
        scale=alt.Scale(domain=list(states), range=list(states.values())),
        legend=None,
    )
    x = alt.X(
        "number:Q",
        scale=alt.Scale(domain=[0.5, len(rows) + 0.5], nice=False),
        axis=alt.Axis(format="d", tickMinStep=1, grid=False),
        title="run, oldest first",
    )
    y = alt.Y(
        "value:Q", scale=alt.Scale(zero=False), title=f"against {series.against}, {series.unit}"
    )
    source = alt.Chart(alt.InlineData(values=rows))
    renewed = [numbers[point.run] - 0.5 for point in series.points if point.differences]
    layers = [
        frame.lines(renewed, _x("low"), palette.FRAME, [1, 0]),
        frame.lines(
            [numbers[each.run] - 0.5 for each in series.changes], _x("low"), palette.INK, [4, 3]
        ),
        _levels(series, numbers, x),
        source.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        source.mark_point(filled=True, size=36, opacity=1).encode(
            x=x,
            y=y,
            color=colour,
            shape=alt.Shape(
                "state:N",
                scale=alt.Scale(
                    domain=list(states), range=["circle"] * (len(states) - 1) + ["cross"]
                ),
                legend=None,
            ),
        ),
    ]
    title = alt.TitleParams(
        f"{series.variant}: {series.title}",
        subtitle=[each for each in (series.study, series.scenario_title) if each],
        anchor="start",
        frame="group",
        subtitleColor=palette.QUIET,
    )
    width = max(frame.WIDTH, _STEP * len(rows))
    return alt.layer(*layers).properties(width=width, height=_HEIGHT, title=title)


def _x(name: str) -> Any:
    return alt.X(f"{name}:Q")


def _levels(series: Series, numbers: dict[str, int], x: Any) -> Any:
    """Return the median of each stretch between change points."""
    starts = [1, *(numbers[each.run] for each in series.changes)]
    levels = [each.before for each in series.changes[:1]] + [each.after for each in series.changes]
    ends = [*starts[1:], len(numbers) + 1]
    rows = [
        {"number": start - 0.5, "end": end - 0.5, "median": level.median}
        for start, end, level in zip(starts, ends, levels, strict=False)
    ]
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rule(color=palette.QUIET, strokeWidth=1.5)
        .encode(x=x, x2="end:Q", y=alt.Y("median:Q"))
    )
