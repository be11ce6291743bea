"""The page of `tare history`: one file, no script, nothing fetched."""

from tare.model.history import History
from tare.report import drawing
from tare.report.charts.history import history as chart
from tare.report.history_words import heading, remark, sentences, shown
from tare.report.html import template


def render(history: History) -> str:
    """Return the whole page: the answer, and a chart and a table of each series, those that changed
    first.
    """
    ordered = sorted(history.series, key=lambda series: not series.changes)
    return template("history.html.j2").render(
        sentences=list(sentences(history)),
        charts=[(series, drawing.markup(chart(series))) for series in ordered],
        heading=heading,
        remark=remark,
        shown=shown,
    )
