"""All scenarios at a glance: each variant's effect on the leading outcome, coloured by verdict."""

import math
from typing import Any

import altair as alt

from tare.model.results import Results
from tare.report.charts import frame, palette
from tare.report.numbers import NONE, factor
from tare.report.ranking import DIFFERENT, rankings
from tare.report.titles import titles

_CELL, _NUMBERED = 62, 46
"""Pixels of a column, and of one that has a number."""
_STRENGTHS = (math.log(1.25), math.log(2))
"""Effects from which a colour is stronger."""
_LETTER, _WIDEST = 7.5, 430
"""Pixels of a letter; and of all columns that are named. If they take more they have numbers."""


def summary(results: Results) -> frame.Chart | None:
    """Return a table in colours; None for a single scenario, or where slopes were judged."""
    found = [(scenario, rankings(results, scenario)) for scenario in results.scenarios]
    leading = [(scenario, own[0]) for scenario, own in found if own and not own[0].is_slope]
    if len(leading) < 2:
        return None
    name, named = leading[0][1].name, titles(results)
    cell = max(_CELL, _LETTER * max(len(x) for each in named.values() for x in each.split(",")))
    numbered = cell * len(found) > _WIDEST
    heads = {
        scenario.name: str(number) if numbered else named[scenario.name]
        for number, (scenario, _) in enumerate(found, start=1)
    }
    order: dict[str, list[float]] = {}
    rows: list[dict[str, Any]] = []
    for scenario, ranking in leading:
        if ranking.name != name:
            continue
        for each in ranking.standings:
            order.setdefault(each.label, []).append(each.value)
            told = NONE if each.verdict == "unresolved" else factor(each.value, each.interval)
            text = "=" if each.verdict == "equivalent" else told
            colour = _tint(each.verdict, each.value)
            rows.append(
                {
                    "label": each.label,
                    "scenario": heads[scenario.name],
                    "text": text,
                    "tint": colour,
                }
            )
    sign = 1 if leading[0][1].better == "lower" else -1
    labels = sorted(order, key=lambda label: sign * sum(order[label]) / len(order[label]))
    axis = alt.Axis(
        orient="top", labelAngle=0, labelExpr="split(datum.label, ',')", ticks=False, domain=False
    )
    x = alt.X("scenario:N", sort=list(heads.values()), title=None, axis=axis)
    y = frame.names(labels)
    tints = list(dict.fromkeys(row["tint"] for row in rows))
    scale = alt.Scale(domain=tints, range=tints)
    source = alt.Chart(alt.InlineData(values=rows))
    layers = (
        source.mark_rect(stroke=palette.PAPER, strokeWidth=2).encode(
            x=x, y=y, color=alt.Color("tint:N", scale=scale, legend=None)
        ),
        source.mark_text(fontSize=12, color=palette.INK).encode(x=x, y=y, text="text:N"),
    )
    more = [f"against {results.baseline}; = equivalent, {NONE} unresolved"]
    if numbered:
        more.append("columns: the scenarios in their order")
    title = alt.TitleParams(
        f"{leading[0][1].title} in all scenarios",
        subtitle=more,
        anchor="start",
        frame="group",
        subtitleColor=palette.QUIET,
    )
    width = _NUMBERED * len(heads) if numbered else cell * len(heads)
    return alt.layer(*layers).properties(width=width, height=frame.ROW * len(labels), title=title)


def _tint(verdict: str, percent: float) -> str:
    shades = palette.TINTS[verdict]
    size = abs(math.log(max(1 + percent / 100, math.ulp(1.0))))
    return shades[sum(size >= each for each in _STRENGTHS) if verdict in DIFFERENT else 0]
