"""`tare watch`: a running variant, refreshed each second."""

import sys
import time

import click

from tare.cli.completion import targets
from tare.cli.ranges import Count
from tare.cli.targets import the_one


@click.command()
@click.argument(
    "target", metavar="[EXPERIMENT/VARIANT]", required=False, shell_complete=targets(variants=True)
)
@click.option("--count", type=Count(1), help="Stop after this many seconds.")
def command(target: str | None, count: int | None) -> None:
    """Show requests per second, CPU, memory, context switches and counters, each second."""
    from tare.cli.readings import lines, rates, reading

    found = the_one(target)
    last, shown = reading(found), 0
    while count is None or shown < count:
        time.sleep(1)
        now = reading(found)
        if sys.stdout.isatty():
            click.clear()
        for line in lines(rates(found.name, last, now)):
            click.echo(line)
        last, shown = now, shown + 1
