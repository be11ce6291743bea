"""`tare stats`: one reading of a running variant."""

import time

import click

from tare.cli.completion import targets
from tare.cli.output import json_option, print_json
from tare.cli.ranges import Amount
from tare.cli.targets import the_one


@click.command()
@click.argument(
    "target", metavar="[EXPERIMENT/VARIANT]", required=False, shell_complete=targets(variants=True)
)
@click.option(
    "--interval",
    type=Amount(),
    default=1.0,
    show_default=True,
    help="Seconds to watch.",
)
@json_option
def command(target: str | None, interval: float, as_json: bool) -> None:
    """Read CPU, memory, context switches and the variant's own counters over one interval.

    A role's CPU time lacks what the kernel does for it in interrupts and in threads of its own; the
    machine's has it, with all that others used.
    """
    from tare.cli.readings import lines, rates, reading

    found = the_one(target)
    first = reading(found)
    time.sleep(interval)
    now = rates(found.name, first, reading(found))
    if as_json:
        print_json(now)
    else:
        for line in lines(now):
            click.echo(line)
