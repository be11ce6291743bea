"""`tare watch`: a running variant, refreshed each second."""

import sys
import time

import click

from tare.cli.completion import targets
from tare.cli.output import say
from tare.cli.ranges import Count
from tare.cli.targets import the_one
from tare.lab.errors import TareError


@click.command()
@click.argument(
    "target", metavar="[EXPERIMENT/VARIANT]", required=False, shell_complete=targets(variants=True)
)
@click.option("--count", type=Count(1), help="Stop after this many seconds.")
def command(target: str | None, count: int | None) -> None:
    """Show requests per second, CPU, memory, context switches and counters, each second."""
    from tare.cli.readings import lines, rates, reading
    from tare.lab.run import instances

    found = the_one(target)
    last, shown = reading(found), 0
    while count is None or shown < count:
        time.sleep(1)
        try:
            now = reading(found)
        except (TareError, OSError):
            if instances.is_left(found):
                raise
            say(f"{found.name} is down")
            return
        if sys.stdout.isatty():
            click.clear()
        for line in lines(rates(found.name, last, now)):
            click.echo(line)
        last, shown = now, shown + 1
