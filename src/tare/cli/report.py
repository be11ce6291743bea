"""`tare report`: the tables and the HTML of a stored run."""

import sys

import click

from tare.cli.output import json_option, say
from tare.cli.run import folder_of


@click.command()
@click.argument("run", default="last")
@json_option
def command(run: str, as_json: bool) -> None:
    """Print RUN's results again and write its report.html; `last` is the newest.

    \b
    tare report
    tare report runs/20260101T120000Z-filters --json
    """
    from tare.cli.running import report
    from tare.report.folder import NotARun

    folder = folder_of(run)
    try:
        report(folder, as_json=as_json)
    except NotARun as error:
        say(str(error))
        sys.exit(1)
    say(f"report: {folder / 'report.html'}")
