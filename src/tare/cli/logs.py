"""`tare logs`: what a running variant's roles have printed."""

import time

import click

from tare.cli.completion import targets
from tare.cli.targets import the_one


@click.command()
@click.argument(
    "target", metavar="[EXPERIMENT/VARIANT]", required=False, shell_complete=targets(variants=True)
)
@click.option("--role", help="Only this role.")
@click.option("-f", "--follow", is_flag=True, help="Go on as more is printed.")
def command(target: str | None, role: str | None, follow: bool) -> None:
    """Print the logs of TARGET's roles, each line behind the role's name."""
    found = the_one(target)
    if role is not None and role not in found.roles:
        raise click.BadParameter(f"{role!r}: expected one of {', '.join(found.roles)}")
    names = [role] if role else list(found.roles)
    positions = dict.fromkeys(names, 0)
    while True:
        for name in names:
            with found.roles[name].log.open("rb") as stream:
                stream.seek(positions[name])
                fresh = stream.read()
            positions[name] += len(fresh)
            for line in fresh.decode(errors="replace").splitlines():
                click.echo(f"{name}: {line}")
        if not follow:
            return
        time.sleep(0.3)
