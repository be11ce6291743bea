"""The charts of a run, declared once: a panel for each outcome, a curve of latency percentiles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from tare.model.results import Results, ScenarioResult, SlopeResult
from tare.report.folder import RunFolder
from tare.report.numbers import figure, percent
from tare.report.slopes import ranked
from tare.report.titles import label_title, titles
from tare.stats.histogram import Histogram
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import two_digits

Chart = alt.LayerChart | alt.FacetChart | alt.VConcatChart
_COLOURS = {
    "baseline": "#1b1f24",
    "costs": "#b42318",
    "saves": "#1a7f37",
    "equivalent": "#0969da",
    "unresolved": "#9a6700",
    "not judged": "#59636e",
}
_PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b4c9a", "#8c564b")
"""Okabe and Ito's colours, which the colour-blind tell apart, and two more; then dashes."""
_DASHES = ([1, 0], [6, 3], [2, 2])
_WIDTH, _ROW = 420, 26
_NOTES = {"median": 12, "effect": 172, "verdict": 332}
"""Column of text → how far right of the plot it begins."""
_TICKS = {2: "50", 10: "90", 100: "99", 1000: "99.9", 10_000: "99.99", 100_000: "99.999"}


@dataclass(frozen=True)
class Picture:
    """One chart and what to call it."""

    name: str
    chart: Chart


def outcome(results: Results, scenario: ScenarioResult, name: str) -> Chart | None:
    """Medians with intervals, best first, the noise floor as a band around the baseline.

    None where nothing was measured.
    """
    measured = {
        label: variant.outcomes[name]
        for label, variant in scenario.variants.items()
        if name in variant.outcomes
        and label != CONTROL
        and variant.outcomes[name].median is not None
    }
    if not measured:
        return None
    kind = next(iter(measured.values()))
    down = kind.better == "higher"
    order = sorted(measured, key=lambda label: measured[label].median or 0.0, reverse=down)
    rows = []
    for label in order:
        found = measured[label]
        low, high = found.median_ci or (found.median, found.median)
        state = "baseline" if label == results.baseline else found.verdict or "not judged"
        place: dict[str, Any] = {
            "label": label,
            "value": found.median,
            "low": low,
            "high": high,
            "state": state,
        }
        notes = {
            "median": figure(found.median, found.median_ci),
            "effect": percent(found.effect_pct, found.ci_pct) or "baseline",
            "verdict": found.verdict or "",
        }
        rows.append(place | notes)
    floor = scenario.noise_floor[name].reach_pct
    lows, highs = [row["low"] for row in rows], [row["high"] for row in rows]
    base = measured.get(results.baseline)
    band = None
    if base is not None and base.median is not None and floor is not None:
        reach = 1 + floor / 100
        band = {"low": base.median / reach, "high": base.median * reach}
        lows.append(band["low"])
        highs.append(band["high"])
    scale = _scale(lows, highs)
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=180, ticks=False))
    x = alt.X("low:Q", scale=scale, title=f"{kind.title}, {kind.unit} ({kind.better} is better)")
    colour = alt.Color("state:N", scale=_states(), legend=None)
    source = alt.Chart(alt.InlineData(values=rows))
    layers: list[Any] = []
    if band is not None:
        layers.append(
            alt.Chart(alt.InlineData(values=[band]))
            .mark_rect(color="#8c959f", opacity=0.25)
            .encode(x=x, x2="high:Q")
        )
    layers += [
        source.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=y, color=colour),
        source.mark_point(filled=True, size=70, opacity=1).encode(
            x=alt.X("value:Q", scale=scale), y=y, color=colour
        ),
        *(
            source.mark_text(align="left", baseline="middle", fontSize=11).encode(
                x=alt.value(_WIDTH + right), y=y, text=f"{note}:N", color=colour
            )
            for note, right in _NOTES.items()
        ),
    ]
    shade = "" if floor is None else f"; shaded: the noise floor, ±{two_digits(floor)} %"
    title = alt.TitleParams(
        kind.title,
        subtitle=f"{titles(results)[scenario.name]} · medians of trials, 95 % intervals{shade}",
        anchor="start",
        subtitleColor="#59636e",
    )
    return alt.layer(*layers).properties(width=_WIDTH, height=_ROW * len(rows), title=title)


def dose_response(results: Results, scenario: ScenarioResult, found: SlopeResult) -> Chart:
    """The response beyond that at the lowest dose, against the dose: one line a variant."""
    labels = [label for label in ranked(found) if label != CONTROL]
    rows = [
        {
            "label": label,
            "dose": at.dose,
            "value": at.value,
            "low": at.ci[0] if at.ci else at.value,
            "high": at.ci[1] if at.ci else at.value,
        }
        for label in labels
        for at in found.variants[label].growth
    ]
    shades, strokes = (alt.Scale(domain=labels, range=each) for each in _lines(labels))
    colour = alt.Color("label:N", scale=shades, sort=labels, title=None)
    source = alt.Chart(alt.InlineData(values=rows))
    x = alt.X("dose:Q", title=found.parameter, axis=alt.Axis(values=_doses(found)))
    y = alt.Y("value:Q", title=f"{found.unit} beyond the lowest {found.parameter}")
    layers = (
        source.mark_line(strokeWidth=2).encode(
            x=x,
            y=y,
            color=colour,
            strokeDash=alt.StrokeDash("label:N", scale=strokes, sort=labels, title=None),
        ),
        source.mark_rule(strokeWidth=2).encode(x=x, y="low:Q", y2="high:Q", color=colour),
        source.mark_point(filled=True, size=40, opacity=1).encode(x=x, y=y, color=colour),
    )
    title = alt.TitleParams(
        f"{found.title}: dose and response",
        subtitle=f"{titles(results)[scenario.name]} · 95 % intervals",
        anchor="start",
        subtitleColor="#59636e",
    )
    return alt.layer(*layers).properties(width=_WIDTH + 180, height=320, title=title)


def _lines(labels: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """A colour and a dash for each, no two of them alike in both."""
    numbers = range(len(labels))
    return (
        [_PALETTE[number % len(_PALETTE)] for number in numbers],
        [_DASHES[number // len(_PALETTE) % len(_DASHES)] for number in numbers],
    )


def _doses(found: SlopeResult) -> list[float]:
    return [at.dose for at in next(iter(found.variants.values())).growth]


def latency(folder: RunFolder, results: Results, scenario: ScenarioResult) -> Chart | None:
    """Latency by percentile of all requests, one line a variant, the A/A control dashed.

    None where no trial kept a histogram.
    """
    lines = {
        label: _curve(whole)
        for label in scenario.variants
        if (whole := folder.latency(scenario.name, label)) is not None
    }
    if not any(lines.values()):
        return None
    plain = [label for label in lines if label != CONTROL]
    control = label_title(results, CONTROL)
    names = [*plain, *([control] if CONTROL in lines else [])]
    points: list[dict[str, Any]] = [
        {"label": control if label == CONTROL else label, "tail": tail, "us": value}
        for label, curve in lines.items()
        for tail, value in curve
    ]
    colours, dashes = _lines(plain)
    end = max(point["tail"] for point in points)
    ticks = [tick for tick in _TICKS if tick <= end * 1.01]
    named = " : ".join(f"datum.value == {tick} ? '{_TICKS[tick]}'" for tick in ticks)
    x = alt.X(
        "tail:Q",
        scale=alt.Scale(type="log", nice=False, domain=[1 / 0.9, end]),
        axis=alt.Axis(values=ticks, labelExpr=f"{named} : ''", title="percentile"),
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
    shades = alt.Scale(domain=names, range=[*colours, "#59636e"][: len(names)])
    strokes = alt.Scale(domain=names, range=[*dashes, [4, 4]][: len(names)])
    title = alt.TitleParams(
        "Latency by percentile",
        subtitle=f"{titles(results)[scenario.name]} · all requests of all trials that count",
        anchor="start",
        subtitleColor="#59636e",
    )
    line = (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(strokeWidth=2, interpolate="monotone")
        .encode(
            x=x,
            y=y,
            color=alt.Color("label:N", scale=shades, sort=names, title=None),
            strokeDash=alt.StrokeDash("label:N", scale=strokes, sort=names, title=None),
        )
    )
    return alt.layer(line).properties(width=_WIDTH + 180, height=280, title=title)


def pictures(folder: RunFolder, results: Results) -> list[Picture]:
    """A picture of each outcome, a panel a scenario, and one of each scenario's latencies."""
    found = []
    for name in folder.plan.outcomes:
        panels = [outcome(results, scenario, name) for scenario in results.scenarios]
        known = [panel for panel in panels if panel is not None]
        if known:
            found.append(Picture(name, alt.vconcat(*known, spacing=28)))
    for scenario in results.scenarios:
        found += [
            Picture(f"{each.outcome}-{scenario.name}", dose_response(results, scenario, each))
            for each in scenario.slopes
        ]
        if (curve := latency(folder, results, scenario)) is not None:
            found.append(Picture(f"latency-by-percentile-{scenario.name}", curve))
    return found


def _states() -> alt.Scale:
    return alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))


def _scale(lows: Sequence[Any], highs: Sequence[Any]) -> alt.Scale:
    """Around what is shown, with some room; from zero where the values are close to it."""
    low, high = min(lows), max(highs)
    room = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
    least = 0.0 if low >= 0 and low - room < high * 0.15 else low - room
    return alt.Scale(domain=[least, high + room], zero=False, nice=False)


def _curve(whole: Histogram) -> list[tuple[float, float]]:
    """1 / (1 − q) and the q-quantile in µs, from the 10th percentile as far as it can be named."""
    points = []
    for step in range(81):
        tail = max(1 / 0.9, math.pow(10, step / 16))
        if (value := whole.quantile(1 - 1 / tail)) is not None:
            points.append((tail, value / 1e3))
    return points
