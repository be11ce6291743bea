"""CPU time per request, stacked by who spent it."""

from typing import Any

import altair as alt

from tare.model.results import Results, ScenarioResult
from tare.report.charts import frame, palette
from tare.report.folder import RunFolder
from tare.report.spent import spent
from tare.stats.rounding import two_digits

_NOTE = 6


def cpu(folder: RunFolder, results: Results, scenario: ScenarioResult) -> frame.Chart | None:
    """Return a bar a variant, the smallest first; None where the parts are not known."""
    found = spent(folder, scenario.name)
    if not found:
        return None
    totals = {label: sum(own.values()) for label, own in found.items()}
    order = [frame.name(label) for label in totals]
    parts = list(dict.fromkeys(part for own in found.values() for part in own))
    rows: list[dict[str, Any]] = []
    for label, own in found.items():
        start = 0.0
        for part in parts:
            end = start + own.get(part, 0.0)
            rows.append({"label": frame.name(label), "part": part, "start": start, "end": end})
            start = end
    notes = [
        {"label": frame.name(label), "note": two_digits(total)} for label, total in totals.items()
    ]
    y = frame.names(order)
    colours, _ = palette.series(len(parts))
    legend = alt.Legend(orient="bottom", columns=3, labelLimit=frame.LABEL)
    layers = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(height={"band": 0.7}, stroke=palette.PAPER, strokeWidth=1)
        .encode(
            x=alt.X("start:Q", title="µs per request, mean of trials"),
            x2="end:Q",
            y=y,
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=parts, range=colours),
                sort=parts,
                title=None,
                legend=legend,
            ),
        ),
        alt.Chart(alt.InlineData(values=notes))
        .mark_text(align="left", baseline="middle", fontSize=12, color=palette.INK)
        .encode(x=alt.value(frame.WIDTH + _NOTE), y=y, text="note:N"),
    )
    title = frame.title("CPU by who spent it", results, scenario)
    return alt.layer(*layers).properties(
        width=frame.WIDTH, height=frame.ROW * len(order), title=title
    )
