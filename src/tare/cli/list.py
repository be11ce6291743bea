"""`tare list`: the experiments and their variants."""

from dataclasses import asdict

import click

from tare.cli.output import json_option, print_json
from tare.lab.project import index


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List the experiments, each with its question and its variants."""
    known = index.entries()
    if as_json:
        print_json([asdict(entry) for entry in known])
        return
    for entry in known:
        click.echo(f"{entry.name:12} {entry.question}")
        click.echo(f"{'':12} {', '.join(entry.variants)}")
