"""Effects with their intervals against the noise floor and the margin of equivalence."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import altair as alt

from tare.model.results import Results, ScenarioResult, SlopeResult
from tare.report.charts import frame
from tare.report.charts.palette import INK, MARGIN, QUIET
from tare.report.charts.ticks import labels, ratio_ticks
from tare.report.numbers import factor, figure
from tare.report.ranking import ordered
from tare.report.slopes import ranked
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import reach_text, two_digits

_NOTE = 8
"""Pixels right of the plot at which the effects stand."""
_ROOM = 0.03
"""Of the axis, at each end."""


def forest(results: Results, scenario: ScenarioResult, name: str) -> frame.Chart | None:
    """Return one judged outcome's effects as ratios on a logarithmic axis, which is the same in all
    scenarios; None if there is no interval.
    """
    found = {
        label: scenario.variants[label].outcomes[name] for label in ordered(results, scenario, name)
    }
    if not any(each.ci_pct for each in found.values()):
        return None
    rows = [
        {
            "label": frame.name(label),
            "value": _ratio(each.effect_pct or 0.0),
            "low": _ratio(each.ci_pct[0] if each.ci_pct else each.effect_pct or 0.0),
            "high": _ratio(each.ci_pct[1] if each.ci_pct else each.effect_pct or 0.0),
            "state": _state(results, label, each.verdict),
            "note": "" if each.effect_pct is None else factor(each.effect_pct, each.ci_pct),
        }
        for label, each in found.items()
    ]
    one = next(iter(found.values()))
    reach = scenario.noise_floor[name].reach_pct
    low, high = _domain(results, name)
    marks = ratio_ticks(low, high, frame.WIDTH)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    x = alt.X(
        "low:Q",
        scale=scale,
        axis=alt.Axis(values=marks, labelExpr=labels(marks), labelOverlap=False),
        title=f"against {_against(results, found)}: {one.better} is better",
    )
    margin = _ratio(results.margin_pct)
    shaded = "" if reach is None else f"shaded: noise floor, {reach_text(reach)}; "
    more = f"{shaded}dashed: margin, ±{results.margin_pct:g} %"
    layers = [] if reach is None else [frame.band(1 / _ratio(reach), _ratio(reach), x)]
    layers += [
        frame.lines([1 / margin, margin], x, MARGIN, [3, 3]),
        frame.lines([1.0], x, QUIET, [1, 0]),
        *_marks(rows, x, scale),
    ]
    return alt.layer(*layers).properties(
        width=frame.WIDTH,
        height=frame.ROW * len(rows),
        title=frame.title(one.title, results, scenario, more),
    )


def slope_forest(results: Results, scenario: ScenarioResult, found: SlopeResult) -> frame.Chart:
    """Return slopes with their intervals, in their unit."""
    rows: list[dict[str, Any]] = [
        {
            "label": frame.name(label),
            "value": own.slope,
            "low": own.ci[0] if own.ci else own.slope,
            "high": own.ci[1] if own.ci else own.slope,
            "state": _state(results, label, own.verdict),
            "note": figure(own.slope, own.ci).partition(" [")[0],
        }
        for label in ranked(found)
        for own in [found.variants[label]]
    ]
    floor, base = found.floor or 0.0, found.variants.get(results.baseline)
    # The floor is of differences to the baseline.
    middle = base.slope if base is not None else 0.0
    shade = middle - floor, middle + floor
    ends = [*(row["low"] for row in rows), *(row["high"] for row in rows), *shade]
    room = (max(ends) - min(ends)) * 0.03
    scale = alt.Scale(domain=[min(ends) - room, max(ends) + room], nice=False, zero=False)
    x = alt.X("low:Q", scale=scale, title=f"{found.unit}: {found.better} is better")
    more = f"shaded: noise floor, {two_digits(floor)} {found.unit}" if floor else ""
    layers = [frame.band(*shade, x)] if floor else []
    layers += [frame.lines([0.0], x, QUIET, [1, 0]), *_marks(rows, x, scale)]
    return alt.layer(*layers).properties(
        width=frame.WIDTH,
        height=frame.ROW * len(rows),
        title=frame.title(found.title, results, scenario, more),
    )


def _marks(rows: list[dict[str, Any]], x: Any, scale: alt.Scale) -> list[Any]:
    y, colour = frame.names([row["label"] for row in rows]), frame.verdicts()
    source = alt.Chart(alt.InlineData(values=rows))
    return [
        source.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=y, color=colour),
        source.mark_point(filled=True, size=60, opacity=1).encode(
            x=alt.X("value:Q", scale=scale), y=y, color=colour
        ),
        source.mark_text(align="left", baseline="middle", fontSize=12, color=INK).encode(
            x=alt.value(frame.WIDTH + _NOTE), y=y, text="note:N"
        ),
    ]


def _against(results: Results, labels: Iterable[str]) -> str:
    own = {results.baseline_of(label) for label in labels}
    return results.baseline if own == {results.baseline} else "its own baseline"


def _state(results: Results, label: str, verdict: str | None) -> str:
    if label == CONTROL:
        return "A/A control"
    return "baseline" if label == results.baseline else verdict or "unresolved"


def _domain(results: Results, name: str) -> tuple[float, float]:
    """Return the ratios at the ends of the axis: all intervals and floors of the outcome fit."""
    ends = [_ratio(results.margin_pct), *_ends(results, name)]
    low, high = min([1 / ends[0], *ends]), max(ends)
    room = (high / low) ** _ROOM
    return low / room, high * room


def _ends(results: Results, name: str) -> Iterator[float]:
    for scenario in results.scenarios:
        if (floor := scenario.noise_floor.get(name)) and floor.reach_pct is not None:
            yield from (_ratio(floor.reach_pct), 1 / _ratio(floor.reach_pct))
        for variant in scenario.variants.values():
            if (found := variant.outcomes.get(name)) is not None:
                yield from map(_ratio, found.ci_pct or ())


def _ratio(percent: float) -> float:
    return max(1 + percent / 100, math.ulp(1.0))
