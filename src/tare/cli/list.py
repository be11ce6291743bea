"""`tare list`: the experiments and their variants."""

import click

from tare.cli.output import json_option, print_json
from tare.lab import catalog


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List the experiments, each with its question and its variants."""
    known = [catalog.load(name) for name in catalog.experiment_names()]
    if as_json:
        print_json(
            [
                {
                    "name": loaded.name,
                    "question": loaded.experiment.question,
                    "baseline": loaded.experiment.baseline,
                    "variants": list(loaded.variants),
                }
                for loaded in known
            ]
        )
        return
    for loaded in known:
        click.echo(f"{loaded.name:12} {loaded.experiment.question}")
        click.echo(f"{'':12} {', '.join(loaded.variants)}")
