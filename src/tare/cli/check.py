"""`tare check`: start variants and let their oracles see them, without measuring."""

import sys

import click

from tare.cli.output import json_option, print_json, say
from tare.lab.project.catalog import load, split_target
from tare.lab.project.index import experiment_names


@click.command()
@click.argument("target", metavar="[EXPERIMENT[/VARIANT]]", required=False)
@json_option
def command(target: str | None, as_json: bool) -> None:
    """Read the manifests, build, start each variant once, and run its oracle.

    \b
    tare check
    tare check filters/c-module
    """
    from tare.lab.run.checking import check

    if target is None:
        wanted = [(name, list(load(name).variants)) for name in experiment_names()]
    else:
        name, variant = split_target(target)
        load(name).choose([variant] if variant else None)
        wanted = [(name, [variant] if variant else list(load(name).variants))]
    found = [verdict for name, variants in wanted for verdict in check(load(name), variants, say)]
    if as_json:
        print_json([verdict.model_dump() for verdict in found])
    else:
        for verdict in found:
            click.echo(f"{verdict.name:28} {verdict.status:12} {verdict.detail}")
    sys.exit(1 if any(verdict.status == "failed" for verdict in found) else 0)
