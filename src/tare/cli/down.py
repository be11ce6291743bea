"""`tare down`: take variants down."""

import click

from tare.cli.completion import targets
from tare.cli.output import say
from tare.cli.targets import chosen


@click.command()
@click.argument(
    "target",
    metavar="[EXPERIMENT[/VARIANT]]",
    required=False,
    shell_complete=targets(variants=True),
)
def command(target: str | None) -> None:
    """Stop a variant, all of an experiment, or everything that `tare up` left running."""
    from tare.lab.run import instances

    found = chosen(target)
    if not found:
        click.echo("nothing is up")
    for each in found:
        killed = instances.down(each)
        if killed is None:
            click.echo(f"{each.name} was taken down or started anew by another process")
            continue
        note = f" (had to kill: {', '.join(killed)})" if killed else ""
        click.echo(f"{each.name} is down{note}")
        if instances.kept_logs(each.experiment, each.variant):
            say(f"its logs are kept until it is up again: tare logs {each.name}")
