"""Spans of time on the command line."""

import re
from collections.abc import Callable
from typing import Any

import click

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


class Span(click.ParamType[float]):
    """Seconds, written as `90`, `90s`, `1.5m` or `2h`."""

    name = "span"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return seconds above 0."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value).strip())
        if found is None or not float(found[1]):
            self.fail(f"found {value!r}, expected a time above 0 such as 90s, 5m or 1h", param, ctx)
        return float(found[1]) * _UNITS_S[found[2]]


def span_option(
    name: str, field: str, default: str | None, help_: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return an option that takes a span, shown with its default if it has one."""
    shown = default is not None
    return click.option(
        name, field, type=Span(), default=default, show_default=shown, metavar="T", help=help_
    )
