"""Dose and response: one line a variant."""

import altair as alt

from tare.model.results import Results, ScenarioResult, SlopeResult
from tare.report.charts import frame, palette
from tare.report.slopes import ranked
from tare.stats.plan_order import CONTROL


def dose_response(results: Results, scenario: ScenarioResult, found: SlopeResult) -> frame.Chart:
    """Return the response beyond that at the lowest dose, against the dose."""
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
    shades, strokes = (alt.Scale(domain=labels, range=each) for each in palette.series(len(labels)))
    legend = alt.Legend(labelLimit=frame.LABEL)
    colour = alt.Color("label:N", scale=shades, sort=labels, title=None, legend=legend)
    source = alt.Chart(alt.InlineData(values=rows))
    doses = [at.dose for at in next(iter(found.variants.values())).growth]
    x = alt.X("dose:Q", title=found.parameter, axis=alt.Axis(values=doses))
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
    title = frame.title(f"{found.title}: dose and response", results, scenario, "95 % intervals")
    return alt.layer(*layers).properties(width=frame.WIDTH, height=260, title=title)
