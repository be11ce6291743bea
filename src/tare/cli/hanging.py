"""Lines of text that keep within a terminal, without breaking a name or a figure."""

import re
import shutil
import sys
from collections.abc import Iterator
from typing import TextIO

import click

from tare.report.numbers import NO_BREAK, glued, unglued

_COMMAND = re.compile(r"(?<=: )tare [a-z]+ \S+$")
"""A command to copy, which the shell would take for another one if it had two lines."""
_LEAST = 20
"""Characters of text in a line; a terminal that is narrower breaks it itself."""


def echo(head: str, text: str, *, err: bool = False) -> None:
    """Print a head and a text beside it; the text's further lines stand below its first."""
    for line in lines(head, text, _width(sys.stderr if err else sys.stdout)):
        click.echo(line, err=err)


def lines(head: str, text: str, width: int | None) -> Iterator[str]:
    """Yield the lines of a text, broken at blanks, and at commas within what is too long for a
    line; without a width, the line as it is.
    """
    if width is None or len(head) + len(text) <= width:
        yield head + text
        return
    text = _COMMAND.sub(lambda found: found[0].replace(" ", NO_BREAK), glued(text))
    room = max(width - len(head), _LEAST)
    line = ""
    for piece in _pieces(text, room):
        if line and len(line) + len(piece.rstrip()) > room:
            yield head + unglued(line.rstrip())
            head, line = " " * len(head), ""
        line += piece
    yield head + unglued(line.rstrip())


def _pieces(text: str, room: int) -> Iterator[str]:
    for word in re.split(r"(?<= )(?=\S)", text):
        yield from re.split(r"(?<=,)(?=\S)", word) if len(word) > room else [word]


def _width(stream: TextIO) -> int | None:
    """Return the columns of a terminal; None if it is none."""
    return shutil.get_terminal_size().columns if stream.isatty() else None
