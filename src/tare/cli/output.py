"""Consoles and the `--json` switch, the same in every command."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from tare.cli.encodings import in_ascii
from tare.cli.hanging import echo

if TYPE_CHECKING:  # importing it would cost quick commands a third of their time
    from rich.console import Console

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, nothing else.")


def console() -> "Console":
    """Standard output; without a terminal, as wide as the tables need."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 120)


def errors() -> "Console":
    """Standard error: progress and remarks, so that output stays clean."""
    from rich.console import Console

    return Console(stderr=True, width=None if sys.stderr.isatty() else 160)


def say(text: str) -> None:
    """Print a remark, a step or an error on standard error."""
    head = "tare: "
    for line in text.split("\n"):
        echo(head, line, err=True)
        head = ""


def print_json(content: Any) -> None:
    """Print one JSON document on standard output: a record, or what json takes."""
    dump = getattr(content, "model_dump_json", None)
    text = dump(indent=1) if dump else json.dumps(content, indent=1, ensure_ascii=False)
    click.echo(in_ascii(text))
