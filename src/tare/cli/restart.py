"""`tare restart`: down and up again with the same parameters."""

import os

import click

from tare.cli.output import json_option, say
from tare.cli.targets import the_one
from tare.cli.up import announce


@click.command()
@click.argument("target", metavar="[EXPERIMENT/VARIANT]", required=False)
@json_option
def command(target: str | None, as_json: bool) -> None:
    """Stop TARGET (the only one that is up, if not named) and start it again."""
    from tare.lab.project import environment
    from tare.lab.project.catalog import load
    from tare.lab.run import instances

    found = the_one(target)
    loaded, parameters = environment.take(load(found.experiment), found.variant, os.environ)
    instances.down(found)
    again = instances.up(loaded, found.variant, parameters | found.overrides, say)
    announce(again, as_json=as_json)
