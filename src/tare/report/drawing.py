"""Charts as SVG and PNG, drawn without a browser and without a network."""

import re
from typing import Any

import altair as alt
import vl_convert
from markupsafe import Markup

from tare.report.charts.frame import Chart
from tare.report.charts.palette import FRAME, GRID, INK, PAPER, QUIET

_PIXELS = 2.0
"""For each unit of the chart, so that a PNG is sharp in a text."""
_TAG = re.compile(r"<[^<>]*>")
_EMPTY = re.compile(r'<path class="foreground"[^>]*/>|<path class="background"[^>]*v0h0Z"[^>]*/>')
_UNSEEN = re.compile(
    r' (?:aria-hidden|aria-roledescription|role|pointer-events|stroke-miterlimit|opacity)="'
    r'(?:true|graphics-[a-z]+|none|10|1|[a-z]+ mark container)"'
    r'| class="[a-z -]+"| font-family="[^"]*"| font-size="12px"| font-weight="normal"'
    r'| stroke-width="1"'
)
"""Attributes that draw nothing, or that the page's style says once."""
_LONG_NUMBER = re.compile(r"(\d+\.\d)\d+")


def svg(chart: Chart) -> str:
    """The chart as one `<svg>` element on white."""
    return vl_convert.vegalite_to_svg(_spec(chart), vl_version=_version())


def markup(chart: Chart) -> Markup:
    """The chart as one `<svg>` element within a page: smaller, and without a name of its own."""
    small = _TAG.sub(_smaller, svg(chart))
    return Markup(small.replace("<svg ", '<svg aria-hidden="true" ', 1))


def _smaller(tag: re.Match[str]) -> str:
    if _EMPTY.fullmatch(tag[0]):
        return ""
    return _LONG_NUMBER.sub(r"\1", _UNSEEN.sub("", tag[0]))


def png(chart: Chart) -> bytes:
    """The chart as PNG on white."""
    return vl_convert.vegalite_to_png(_spec(chart), vl_version=_version(), scale=_PIXELS)


def _spec(chart: Chart) -> dict[str, Any]:
    drawn = chart.configure(
        background=PAPER,
        padding={"left": 4, "top": 8, "right": 4, "bottom": 8},
        font="DejaVu Sans, Verdana, Helvetica, sans-serif",
        aria=False,
    )
    drawn = (
        drawn.configure_view(stroke=FRAME)
        .configure_axis(
            labelFontSize=12,
            labelColor=INK,
            titleFontSize=12,
            titleFontWeight="normal",
            titleColor=QUIET,
            gridColor=GRID,
            domainColor=FRAME,
            tickColor=FRAME,
        )
        .configure_legend(labelFontSize=12, labelColor=INK)
        .configure_title(fontSize=14, subtitleFontSize=12, color=INK, subtitleColor=QUIET)
    )
    # Checking it against the grammar takes half of the time and is for those who write charts.
    spec: dict[str, Any] = drawn.to_dict(validate=False)
    return spec


def _version() -> str:
    """Altair's grammar: `v6.1.0` is 6.1."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
