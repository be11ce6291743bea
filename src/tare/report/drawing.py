"""Charts as SVG and PNG, drawn without a browser and without a network."""

from typing import Any

import altair as alt
import vl_convert

from tare.report.charts import Chart

_PIXELS = 2.0
"""For each unit of the chart, so that a PNG is sharp in a text."""


def svg(chart: Chart) -> str:
    """The chart as one `<svg>` element on white."""
    return vl_convert.vegalite_to_svg(_spec(chart), vl_version=_version())


def png(chart: Chart) -> bytes:
    """The chart as PNG on white."""
    return vl_convert.vegalite_to_png(_spec(chart), vl_version=_version(), scale=_PIXELS)


def _spec(chart: Chart) -> dict[str, Any]:
    drawn = chart.configure(
        background="white",
        padding={"left": 12, "top": 12, "right": 12, "bottom": 12},
        font="DejaVu Sans, Verdana, Helvetica, sans-serif",
        aria=False,
    )
    drawn = drawn.configure_view(stroke="#d0d7de").configure_axis(
        labelFontSize=11, titleFontSize=11, titleFontWeight="normal", gridColor="#eaeef2"
    )
    # Checking it against the grammar takes half of the time and is for those who write charts.
    spec: dict[str, Any] = drawn.configure_title(fontSize=14, subtitleFontSize=11).to_dict(
        validate=False
    )
    return spec


def _version() -> str:
    """Altair's grammar: `v6.1.0` is 6.1."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
