"""A live line that keeps within its terminal: of what does not fit, whole columns are left out."""

from collections.abc import Iterable

from rich.console import Console
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

_BOUNDLESS = 10_000
"""Columns of a terminal in which no line is too long."""


class LiveLine(Progress):
    """One task's progress. Its fields are `known`, `where` and `rate`, all of them texts."""

    def __init__(self, console: Console, *, disable: bool) -> None:
        """Make the line for a console; nothing is drawn if it is disabled."""
        known, where, rate = map(_text, ("known", "where", "rate"))
        bar, count = BarColumn(), MofNCompleteColumn()
        elapsed, left = TimeElapsedColumn(), TimeRemainingColumn()
        self._all = (known, bar, count, elapsed, left, where, rate)
        self._left_out_first: tuple[ProgressColumn, ...] = (bar, elapsed, where, rate, known, left)
        self._on = console
        super().__init__(*self._all, console=console, disable=disable)

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        """Return the line with as many columns as the terminal holds side by side. The count is
        never left out.
        """
        shown, self.columns = list(tasks), self._all
        line = super().make_tasks_table(shown)
        boundless = self._on.options.update(width=_BOUNDLESS)
        for column in self._left_out_first:
            wanted = Measurement.get(self._on, boundless, line).maximum
            if wanted <= self._on.width:
                break
            self.columns = tuple(each for each in self.columns if each is not column)
            line = super().make_tasks_table(shown)
        return line


def _text(field: str) -> TextColumn:
    return TextColumn(f"{{task.fields[{field}]}}", markup=False)
