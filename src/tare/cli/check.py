"""`tare check`: start variants and let their oracles see them, without measuring."""

import sys
from pathlib import Path

import click

from tare.cli import own
from tare.cli.completion import targets
from tare.cli.output import json_option, print_json
from tare.cli.variants_dir import variants_dir_option
from tare.lab.project.catalog import load, split_target
from tare.lab.project.index import experiment_names


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument(
    "target",
    metavar="[EXPERIMENT[/VARIANT]]",
    required=False,
    shell_complete=targets(variants=True),
)
@click.argument("parameters", nargs=-1, type=click.UNPROCESSED, metavar="[--PARAMETER VALUE]...")
@variants_dir_option
@json_option
def command(
    target: str | None, parameters: tuple[str, ...], variants_dir: Path | None, as_json: bool
) -> None:
    """Read the manifests, build, start each variant once, and run its oracle.

    Every parameter is an option. So is every part, to put your own file in its place; then only the
    variants that use the file are started.

    \b
    tare check
    tare check filters/c-module
    tare check filters --library example-filter.so
    """
    from tare.cli.builds import Builds
    from tare.cli.run import named_parameters
    from tare.lab.project import parts
    from tare.lab.run import planning
    from tare.lab.run.checking import Checked, check

    named = named_parameters(target, parameters)
    found: list[Checked] = []
    for each in experiment_names() if target is None else [target]:
        name, variant = split_target(each)
        loaded = load(name, outside=variants_dir)
        chosen = loaded.choose([variant])[-1:] if variant else list(loaded.variants)
        files, overrides = own.split([loaded], named)
        if files:
            loaded = parts.exchange(loaded, files, chosen)
            chosen = own.taking(loaded)
        scenario = planning.scenario_at(loaded, {}, overrides)
        found += check(loaded, chosen, Builds([(loaded, chosen)]).say, [scenario])
    if as_json:
        print_json([verdict.model_dump() for verdict in found])
    else:
        for verdict in found:
            click.echo(f"{verdict.name:28} {verdict.status:12} {verdict.detail}")
    sys.exit(1 if any(verdict.status == "failed" for verdict in found) else 0)
