"""`tare restart`: down and up again with the same parameters."""

import click

from tare.cli.completion import targets
from tare.cli.output import json_option
from tare.cli.targets import the_one
from tare.cli.up import announce, launch


@click.command()
@click.argument(
    "target", metavar="[EXPERIMENT/VARIANT]", required=False, shell_complete=targets(variants=True)
)
@json_option
def command(target: str | None, as_json: bool) -> None:
    """Stop a variant (the only one that is up, if not named) and start it again.

    Your own files in the place of parts are taken as they are now.
    """
    from tare.lab.project.catalog import load
    from tare.lab.run import instances

    found = the_one(target)
    loaded = load(found.experiment, outside=found.variants_dir)
    # All that may be lacking is found before anything is stopped.
    ready = launch(loaded, found.variant, {}, found)
    announce(instances.restart(found, ready), as_json=as_json)
