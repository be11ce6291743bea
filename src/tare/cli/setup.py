"""`tare setup`: install and build what experiments need, ahead of time."""

import sys

import click

from tare.cli.completion import targets
from tare.cli.output import say
from tare.lab.project import catalog
from tare.lab.project.index import experiment_names


@click.command()
@click.argument("experiment", required=False, shell_complete=targets())
def command(experiment: str | None) -> None:
    """Install and build everything EXPERIMENT (or every experiment) needs; `run` does so too."""
    from tare.lab.project.preparation import prepare

    failed = False
    for name in [experiment] if experiment else experiment_names():
        loaded = catalog.load(name)
        variants = loaded.choose(loaded.listed())
        prepared = prepare(loaded, variants, say)
        for variant in variants:
            why = prepared.why_not(variant)
            click.echo(f"{name}/{variant}: {why or prepared.versions[variant]}")
        failed |= bool(prepared.failed)
    sys.exit(1 if failed else 0)
