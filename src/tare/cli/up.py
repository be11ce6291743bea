"""`tare up`: start one variant and leave it running."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tare.cli import own
from tare.cli.completion import targets
from tare.cli.output import json_option, print_json, say
from tare.cli.variants_dir import variants_dir_option
from tare.lab.project.catalog import Loaded, load, split_target
from tare.lab.run.instances import Instance, Launch


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("target", metavar="EXPERIMENT/VARIANT", shell_complete=targets(variants=True))
@click.argument("parameters", nargs=-1, type=click.UNPROCESSED, metavar="[--PARAMETER VALUE]...")
@click.option("-p", "--param", multiple=True, metavar="NAME=VALUE", help="Set a parameter.")
@variants_dir_option
@json_option
def command(
    target: str,
    parameters: tuple[str, ...],
    param: tuple[str, ...],
    variants_dir: Path | None,
    as_json: bool,
) -> None:
    """Start a variant with all its roles, check it, leave it running, and say how to try it.

    Every parameter is an option. So is every part of the variant (tare show names them): the option
    puts your own file in its place.

    \b
    tare up filters/c-module
    tare up filters/c-module -p prefix=/private
    tare up filters/dynamic-c --library example-filter.so
    DYNAMIC_LOAD_LIB_PATH=example-filter.so tare up filters/dynamic-c
    """
    from tare.cli.run import named_parameters, pair

    name, variant = split_target(target)
    if variant is None:
        raise click.BadParameter(
            f"found {target!r}, expected EXPERIMENT/VARIANT", param_hint="EXPERIMENT/VARIANT"
        )
    given = dict(pair(text) for text in param) | named_parameters(target, parameters)
    from tare.lab.run import instances

    loaded = load(name, outside=variants_dir)
    instances.refuse_second(name, variant)
    announce(instances.up(launch(loaded, variant, given)), as_json=as_json)


def launch(
    loaded: Loaded, variant: str, given: Mapping[str, Any], before: Instance | None = None
) -> Launch:
    """Make a variant ready with the parameters and files that are given; else with those of
    variables of the environment, or else with those that it had `before`.
    """
    from tare.cli.builds import Builds
    from tare.lab.project import environment, parts
    from tare.lab.run import instances

    named, overrides = own.split([loaded], given)
    taken = environment.take(loaded, variant, os.environ, given)
    for remark in taken.remarks:
        say(remark)
    if exchanged := (before.files if before else {}) | taken.parts | named:
        loaded = parts.exchange(loaded, exchanged, [variant])
        for remark in parts.remarks(loaded.parts):
            say(remark)
    remembered = before.overrides if before else {}
    progress = Builds([(loaded, [variant])])
    own_parameters = remembered | taken.parameters | overrides
    return instances.ready(loaded, variant, own_parameters, progress.say)


def announce(found: Instance, *, as_json: bool) -> None:
    """Say what is up and how to try it."""
    if as_json:
        print_json(found)
        return
    ports = ", ".join(f"{name} {number}" for name, number in found.port.items())
    click.echo(f"{found.name} is up and passed its oracle; ports: {ports}")
    click.echo("\nTry it:")
    for line in found.try_lines:
        click.echo(f"  {line}")
    click.echo(f"\nThen:\n  tare watch {found.name}\n  tare down {found.name}")
