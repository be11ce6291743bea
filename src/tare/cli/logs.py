"""`tare logs`: what a running variant's roles have printed."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from tare.cli.completion import targets
from tare.cli.output import say
from tare.cli.targets import the_one
from tare.lab.errors import TareError

if TYPE_CHECKING:
    from tare.lab.run.instances import Instance

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
    up = None if files else the_one(target)
    if up is not None:
        files = {name: each.log for name, each in up.roles.items()}
    if role is not None and role not in files:
        expected = f"{role!r}: expected one of {', '.join(files)}"
        raise click.BadParameter(expected, param_hint="--role")
    names = [role] if role else list(files)
    with ExitStack() as open_files:
        tails = [_Tail(name, open_files.enter_context(files[name].open("rb"))) for name in names]
        if follow and up is not None:
            _follow(up, tails)
        else:
            for each in tails:
                each.show()
                each.end()


def _follow(up: "Instance", tails: Sequence["_Tail"]) -> None:
    """Show what is printed until the variant is down. Raises RoleError if a role that is followed
    ends by itself.
    """
    from tare.lab.run import instances

    names = [each.name for each in tails]
    fault: TareError | None = None
    try:
        while fault is None:
            try:
                up.ensure_alive(names)
                time.sleep(_LOOK_S)
            except TareError as error:
                fault = error
            for each in tails:
                each.show()
    finally:
        for each in tails:
            each.end()
    if instances.is_left(up):
        raise fault
    say(f"{up.name} is down")


class _Tail:
    """One role's log, of which each look shows what is new. It stays open, so that the last lines
    are shown even if it was moved meanwhile.
    """

    def __init__(self, name: str, stream: BinaryIO) -> None:
        self.name, self._stream, self._rest = name, stream, b""

    def show(self) -> None:
        """Print the whole lines that are new."""
        *lines, self._rest = (self._rest + self._stream.read()).split(b"\n")
        for line in lines:
            self._print(line)

    def end(self) -> None:
        """Print a last line that has no end."""
        if self._rest:
            self._print(self._rest)
        self._rest = b""

    def _print(self, line: bytes) -> None:
        click.echo(f"{self.name}: {line.decode(errors='replace')}")


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
