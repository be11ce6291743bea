"""Medians of one outcome with their intervals, in its unit."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from tare.model.results import Results, ScenarioResult
from tare.report.charts import frame, palette
from tare.report.numbers import figure
from tare.report.ranking import ordered
from tare.report.titles import unit_title
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import reach_text

_NOTE = 8


def medians(results: Results, scenario: ScenarioResult, name: str) -> frame.Chart | None:
    """Return medians, best first, the noise floor as a band around the baseline; None where
    nothing was measured.
    """
    measured = {
        label: scenario.variants[label].outcomes[name]
        for label in ordered(results, scenario, name)
        if label != CONTROL
    }
    if not measured:
        return None
    kind = next(iter(measured.values()))
    rows: list[dict[str, Any]] = []
    for label, found in measured.items():
        low, high = found.median_ci or (found.median, found.median)
        rows.append(
            {
                "label": frame.name(label),
                "value": found.median,
                "low": low,
                "high": high,
                "note": figure(found.median, found.median_ci),
                "state": "baseline"
                if label == results.baseline
                else found.verdict or "A/A control",
            }
        )
    floor = scenario.noise_floor[name].reach_pct
    lows, highs = [row["low"] for row in rows], [row["high"] for row in rows]
    base = measured.get(results.baseline)
    band = None
    if base is not None and base.median is not None and floor is not None:
        reach = 1 + floor / 100
        band = (base.median / reach, base.median * reach)
        lows.append(band[0])
        highs.append(band[1])
    title = f"{unit_title(kind.title, kind.unit)}: {kind.better} is better"
    scale = _scale(lows, highs)
    x = alt.X("low:Q", scale=scale, title=title)
    y, colour = frame.names([row["label"] for row in rows]), frame.verdicts()
    source = alt.Chart(alt.InlineData(values=rows))
    layers = [] if band is None else [frame.band(*band, x)]
    layers += [
        source.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=y, color=colour),
        source.mark_point(filled=True, size=60, opacity=1).encode(
            x=alt.X("value:Q", scale=scale), y=y, color=colour
        ),
        source.mark_text(align="left", baseline="middle", fontSize=12, color=palette.INK).encode(
            x=alt.value(frame.WIDTH + _NOTE), y=y, text="note:N"
        ),
    ]
    shade = "" if band is None else f"; shaded: noise floor, {reach_text(floor or 0.0)}"
    more = f"medians of trials, 95 % intervals{shade}"
    return alt.layer(*layers).properties(
        width=frame.WIDTH,
        height=frame.ROW * len(rows),
        title=frame.title(kind.title, results, scenario, more),
    )


def _scale(lows: Sequence[Any], highs: Sequence[Any]) -> alt.Scale:
    """Around what is shown, with some room; from zero where the values are close to it."""
    low, high = min(lows), max(highs)
    room = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
    least = 0.0 if low >= 0 and low - room < high * 0.15 else low - room
    return alt.Scale(domain=[least, high + room], zero=False, nice=False)
