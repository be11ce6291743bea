"""`tare status`: what is up."""

import sys

import click

from tare.cli.completion import targets
from tare.cli.output import json_option, print_json
from tare.cli.targets import chosen


@click.command()
@click.argument(
    "target",
    metavar="[EXPERIMENT[/VARIANT]]",
    required=False,
    shell_complete=targets(variants=True),
)
@json_option
def command(target: str | None, as_json: bool) -> None:
    """Say which variants are up and whether their roles still run; exit code 1 if one ended."""
    found = chosen(target)
    rows = [
        {
            "name": each.name,
            "started": each.started,
            "ports": each.port,
            "roles": {
                name: {"pid": role.pid, "running": role.alive()}
                for name, role in each.roles.items()
            },
        }
        for each in found
    ]
    if as_json:
        print_json(rows)
    elif not found:
        click.echo("nothing is up")
    else:
        for each in found:
            ports = ", ".join(f"{name} {number}" for name, number in each.port.items())
            click.echo(f"{each.name}, up since {each.started}, ports: {ports}")
            for name, role in each.roles.items():
                state = "running" if role.alive() else f"ENDED, see: tare logs {each.name}"
                click.echo(f"  {name:12} pid {role.pid:7}  {state}")
    ended = any(not role.alive() for each in found for role in each.roles.values())
    sys.exit(1 if ended else 0)
