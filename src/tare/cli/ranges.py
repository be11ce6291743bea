"""Numbers on the command line, refused with the range that is allowed."""

import math
from typing import Any

import click


class Count(click.IntRange):
    """A whole number of `least` or more."""

    def __init__(self, least: int) -> None:
        super().__init__(least)
        self._wanted = f"a whole number, {least} or more"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number. Raises click.BadParameter with the range."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"found {value}, expected {self._wanted}", param, ctx)


class Amount(click.FloatRange):
    """A number above 0, and at most `most` if that is given."""

    def __init__(self, most: float | None = None) -> None:
        super().__init__(0, most, min_open=True)
        self._wanted = "a number above 0" + ("" if most is None else f" and at most {most:g}")

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number. Raises click.BadParameter with the range."""
        try:
            number = float(super().convert(value, param, ctx))
        except click.BadParameter:
            number = math.nan
        if not math.isfinite(number):
            self.fail(f"found {value}, expected {self._wanted}", param, ctx)
        return number
