"""`tare up`: start one variant and leave it running."""

import os

import click

from tare.cli.output import json_option, print_json, say
from tare.lab.project.catalog import load, split_target
from tare.lab.run.instances import Instance


@click.command()
@click.argument("target", metavar="EXPERIMENT/VARIANT")
@click.option("-p", "--param", multiple=True, metavar="NAME=VALUE", help="Set a parameter.")
@json_option
def command(target: str, param: tuple[str, ...], as_json: bool) -> None:
    """Start a variant with all its roles, check it, leave it running, and say how to try it.

    \b
    tare up filters/c-module
    tare up filters/c-module -p prefix=/private
    DYNAMIC_LOAD_LIB_PATH=my_filter.so tare up filters/dynamic-c
    """
    from tare.cli.run import pair
    from tare.lab.project import environment
    from tare.lab.run import instances

    name, variant = split_target(target)
    if variant is None:
        raise click.BadParameter(f"{target!r}: expected EXPERIMENT/VARIANT", param_hint="TARGET")
    loaded, parameters = environment.take(load(name), variant, os.environ)
    given = parameters | dict(pair(text) for text in param)
    found = instances.up(loaded, variant, given, say)
    announce(found, as_json=as_json)


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
