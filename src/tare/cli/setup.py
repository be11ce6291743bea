"""`tare setup`: install and build what experiments need, ahead of time."""

import sys

import click

from tare.cli.completion import targets
from tare.lab.project import catalog
from tare.lab.project.index import experiment_names


@click.command()
@click.argument("experiment", required=False, shell_complete=targets())
def command(experiment: str | None) -> None:
    """Install and build everything EXPERIMENT (or every experiment) needs; `run` does so too."""
    from tare.cli.builds import Builds
    from tare.lab.project.preparation import prepare

    failed = False
    names = experiment_names() if experiment is None else [experiment]
    known = [catalog.load(name) for name in names]
    wanted = [(loaded, loaded.choose(loaded.listed())) for loaded in known]
    progress = Builds(wanted)
    for name, (loaded, variants) in zip(names, wanted, strict=True):
        prepared = prepare(loaded, variants, progress.say)
        for variant in variants:
            why = prepared.why_not(variant)
            click.echo(f"{name}/{variant}: {why or prepared.versions[variant]}")
        failed |= bool(prepared.failed)
    sys.exit(1 if failed else 0)
