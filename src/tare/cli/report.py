"""`tare report`: the answer, the tables and the HTML of a stored run."""

import sys

import click

from tare.cli.completion import runs
from tare.cli.output import json_option
from tare.cli.run import folder_of


@click.command()
@click.argument("run", default="last", shell_complete=runs)
@click.option("--all", "everything", is_flag=True, help="Print all outcomes, pairs and notes.")
@json_option
def command(run: str, everything: bool, as_json: bool) -> None:
    """Print RUN's answer and write its report.html; `last` is the newest.

    \b
    tare report
    tare report --all
    tare report runs/20260101T120000Z-filters --json
    """
    from tare.cli.running import report

    _, is_written = report(folder_of(run), as_json=as_json, everything=everything)
    sys.exit(0 if is_written else 1)
