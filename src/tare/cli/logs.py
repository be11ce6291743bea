"""`tare logs`: what a running variant's roles have printed."""

import time
from pathlib import Path

import click

from tare.cli.completion import targets
from tare.cli.output import say
from tare.cli.targets import the_one


@click.command()
@click.argument(
    "target", metavar="[EXPERIMENT/VARIANT]", required=False, shell_complete=targets(variants=True)
)
@click.option("--role", help="Only this role.")
@click.option("-f", "--follow", is_flag=True, help="Go on as more is printed.")
def command(target: str | None, role: str | None, follow: bool) -> None:
    """Print the logs of a variant's roles, each line behind the role's name.

    The logs of a variant that is down are kept until it is up again.
    """
    files = _kept(target)
    follows = follow and not files
    files = files or {name: each.log for name, each in the_one(target).roles.items()}
    if role is not None and role not in files:
        raise click.BadParameter(f"{role!r}: expected one of {', '.join(files)}")
    names = [role] if role else list(files)
    positions = dict.fromkeys(names, 0)
    while True:
        for name in names:
            with files[name].open("rb") as stream:
                stream.seek(positions[name])
                fresh = stream.read()
            positions[name] += len(fresh)
            for line in fresh.decode(errors="replace").splitlines():
                click.echo(f"{name}: {line}")
        if not follows:
            return
        time.sleep(0.3)


def _kept(target: str | None) -> dict[str, Path]:
    """Return the logs of a variant that is down; none if it is up, or has none."""
    from tare.lab.project.catalog import split_target
    from tare.lab.run import instances

    if target is None:
        return {}
    experiment, variant = split_target(target)
    if variant is None or instances.find(experiment, variant) is not None:
        return {}
    if found := instances.kept_logs(experiment, variant):
        say(f"{target} is down; these logs are from when it was last up")
    return found
