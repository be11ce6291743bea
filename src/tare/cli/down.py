"""`tare down`: take variants down."""

import sys
from typing import TYPE_CHECKING

import click

from tare.cli.completion import targets
from tare.cli.output import say
from tare.cli.targets import chosen
from tare.lab.errors import TareError

if TYPE_CHECKING:
    from tare.lab.run.instances import Instance


@click.command()
@click.argument(
    "target",
    metavar="[EXPERIMENT[/VARIANT]]",
    required=False,
    shell_complete=targets(variants=True),
)
def command(target: str | None) -> None:
    """Stop a variant, all of an experiment, or everything that `tare up` left running."""
    found = chosen(target)
    if not found:
        click.echo("nothing is up")
    code = 0
    for each in found:
        try:
            _down(each)
        except TareError as error:
            say(str(error))
            code = 1
    sys.exit(code)


def _down(each: "Instance") -> None:
    from tare.lab.run import instances

    killed = instances.down(each)
    if killed is None:
        click.echo(f"{each.name} was taken down or started anew by another process")
        return
    note = f" (had to kill: {', '.join(killed)})" if killed else ""
    click.echo(f"{each.name} is down{note}")
    if instances.kept_logs(each.experiment, each.variant):
        say(f"its logs are kept until it is up again: tare logs {each.name}")
