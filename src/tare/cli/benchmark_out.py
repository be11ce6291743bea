"""`BENCHMARK_OUT`: the file for results in Google Benchmark's format, as in its own programs."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from tare.cli.output import say

_FILE, _FORMAT = "BENCHMARK_OUT", "BENCHMARK_OUT_FORMAT"


def target() -> Path | None:
    """The file that the environment names, if it does. Raises click.UsageError for what cannot be
    written at the end, before anything is measured.
    """
    if not (name := os.environ.get(_FILE)):
        return None
    if (form := os.environ.get(_FORMAT, "json")) != "json":
        raise click.UsageError(f"{_FORMAT}: found {form!r}, expected 'json'")
    file = Path(name)
    if file.is_dir():
        raise click.UsageError(f"{_FILE}: {name} is a folder, expected a file")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise click.UsageError(
            f"{_FILE}: {name} cannot be written: make its folder, or let me write"
        )
    return file.absolute()


def write(file: Path | None, runs: Sequence[Path]) -> None:
    """Put the results of the runs in these folders there, if there is a file. Raises OSError."""
    from tare.report import folder, google_benchmark

    if file is not None:
        file.write_text(google_benchmark.text(*map(folder.read, runs)))
        say(f"Google Benchmark's format: {file}")
