"""Tables of the terminal that keep within a width: no cell is ever broken."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from rich.text import Text

from tare.report.numbers import glued, unglued

_GAP = 2
_INDENT = 2
_HEAD = 12
"""Characters that a head may have beyond the cells before it is wrapped."""
_ELLIPSIS = "…"


@dataclass(frozen=True)
class Column:
    """One column: its cells, and what may be done when there is too little room."""

    cells: Sequence[str]
    head: str = ""
    right: bool = False
    styles: Sequence[str] = ()
    drop: int = 0
    """The order in which columns are left out; 0 stays."""
    shorter: Sequence[str] = ()
    """The cells in fewer characters."""

    @property
    def heads(self) -> list[str]:
        """Return the lines of the head, which are hardly wider than the cells."""
        widest = max(map(len, self.cells), default=0)
        return wrapped(self.head, max(widest, _HEAD))

    @property
    def width(self) -> int:
        """Return the characters of the widest cell."""
        return max(map(len, [*self.heads, *self.cells]), default=0)


@dataclass(frozen=True)
class Grid:
    """Columns side by side, the first of them names."""

    columns: Sequence[Column]
    styles: Sequence[str] = field(default_factory=list)
    """One for each row."""

    def lines(self, width: int) -> Iterator[Text]:
        """Yield the table's lines. What does not fit is left out, then shortened, and else each
        row becomes lines of its own.
        """
        columns = _fitted(list(self.columns), width)
        if columns is None:
            yield from self._transposed(width)
            return
        high = max(len(column.heads) for column in columns)
        heads = [[""] * (high - len(column.heads)) + column.heads for column in columns]
        for each in zip(*heads, strict=True):
            yield _row(columns, each, ["dim"] * len(columns))
        for number in range(len(columns[0].cells)):
            cells = [column.cells[number] for column in columns]
            yield _row(columns, cells, [self._style(column, number) for column in columns])

    def _transposed(self, width: int) -> Iterator[Text]:
        first, *others = self.columns
        for number, name in enumerate(first.cells):
            style = self._style(first, number)
            yield Text(" " * _INDENT + shortened(name, width - _INDENT), style)
            line = Text()
            for column in others:
                if not (cell := column.cells[number]):
                    continue
                said = f"{column.head}: {cell}" if column.head else cell
                if line and len(line) + _GAP + len(said) > width:
                    yield line
                    line = Text()
                for part in wrapped(said, width - 2 * _INDENT):
                    if line and len(line) + _GAP + len(part) > width:
                        yield line
                        line = Text()
                    line.append(" " * (_GAP if line else 2 * _INDENT))
                    line.append(part, self._style(column, number))
            if line:
                yield line

    def _style(self, column: Column, number: int) -> str:
        own = column.styles[number] if column.styles else ""
        return own or (self.styles[number] if self.styles else "")


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a sentence; none ends within a number or a name, however narrow."""
    lines = textwrap.wrap(glued(text), width, break_long_words=False, break_on_hyphens=False)
    return [unglued(line) for line in lines]


def shortened(name: str, width: int) -> str:
    """Return a name that is too long with its middle left out."""
    if len(name) <= width:
        return name
    kept = max(width - len(_ELLIPSIS), 2)
    return name[: (kept + 1) // 2] + _ELLIPSIS + name[len(name) - kept // 2 :]


def _fitted(columns: list[Column], width: int) -> list[Column] | None:
    """Return the columns as they fit, or None."""
    while _width(columns) > width:
        droppable = [column for column in columns if column.drop]
        if droppable:
            columns.remove(min(droppable, key=lambda column: column.drop))
        elif shortable := next((column for column in columns if column.shorter), None):
            place = columns.index(shortable)
            columns[place] = replace(shortable, cells=shortable.shorter, shorter=())
        else:
            return None
    return columns


def _width(columns: Sequence[Column]) -> int:
    return _INDENT + sum(column.width for column in columns) + _GAP * (len(columns) - 1)


def _row(columns: Sequence[Column], cells: Sequence[str], styles: Sequence[str]) -> Text:
    line = Text(" " * _INDENT)
    for number, (column, cell, style) in enumerate(zip(columns, cells, styles, strict=True)):
        last = number == len(columns) - 1
        padded = f"{cell:>{column.width}}" if column.right else f"{cell:<{column.width}}"
        line.append(padded.rstrip() if last else padded + " " * _GAP, style)
    line.rstrip()
    return line
