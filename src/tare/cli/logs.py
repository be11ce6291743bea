"""`tare logs`: what a running variant's roles have printed."""

import time
from pathlib import Path

import click

from tare.cli.completion import targets
from tare.cli.output import say
from tare.cli.targets import the_one

_LOOK_S = 0.3


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
    up = None if files else the_one(target)
    if up is not None:
        files = {name: each.log for name, each in up.roles.items()}
    if role is not None and role not in files:
        expected = f"{role!r}: expected one of {', '.join(files)}"
        raise click.BadParameter(expected, param_hint="--role")
    tails = [_Tail(name, files[name]) for name in ([role] if role else files)]
    shown = [each.show(whole=follows) for each in tails]
    while follows and all(shown):
        time.sleep(_LOOK_S)
        shown = [each.show(whole=True) for each in tails]
    for each in tails:
        each.end()
    if follows and up is not None:
        say(f"{up.name} is down")


class _Tail:
    """One role's log, of which each look shows what is new."""

    def __init__(self, name: str, file: Path) -> None:
        self._name, self._file = name, file
        self._at, self._rest = 0, b""

    def show(self, *, whole: bool) -> bool:
        """Print what is new, only its whole lines if so wished. Return False if the log is gone."""
        try:
            with self._file.open("rb") as stream:
                stream.seek(self._at)
                fresh = stream.read()
        except FileNotFoundError:
            return False
        self._at += len(fresh)
        *lines, self._rest = (self._rest + fresh).split(b"\n")
        for line in lines:
            self._print(line)
        if not whole:
            self.end()
        return True

    def end(self) -> None:
        """Print a last line that has no end."""
        if self._rest:
            self._print(self._rest)
        self._rest = b""

    def _print(self, line: bytes) -> None:
        click.echo(f"{self._name}: {line.decode(errors='replace')}")


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
