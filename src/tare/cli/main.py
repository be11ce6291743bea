"""`tare`: finds the command, runs it, and turns failures into sentences and exit codes."""

import importlib
import sys
from typing import Any

import click

from tare.cli.encodings import settle
from tare.cli.groups import Group
from tare.cli.output import say
from tare.cli.unwritable import unwritable
from tare.lab.errors import Interrupted, TareError, UnknownName, no_such
from tare.lab.interrupt import raising
from tare.report.errors import ReportError

_COMMANDS = (
    "duel", "gate", "tail", "calibrate", "run", "resume", "new", "list", "show", "doctor", "setup",
    "check", "up", "down", "restart", "status", "stats", "watch", "logs",
    "load", "report", "export", "compare", "history", "hosts", "clean", "test",
)  # fmt: skip


_EXTRAS = {"pyarrow": "parquet", "cryptography": "benches", "distributed": "benches"}
"""Packages that an installed tare may lack, and the extra that has each; ./tare installs them."""


class Commands(Group):
    """One module a command, imported when it is asked for: a warm `tare list` stays quick."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named. Raises UnknownName with the closest one."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            raise UnknownName(no_such("command", args[0], _COMMANDS))
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of use, not of the alphabet."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of the module of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module: Any = importlib.import_module(f"tare.cli.{cmd_name}")
        command: click.Command = module.command
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tare")
def tare() -> None:
    """What does this layer cost on my request path, and is the difference real?

    \b
    tare run                     six minutes, a first answer from every experiment
    tare run filters --quick     four minutes, a table with intervals and verdicts
    tare list                    the experiments and their variants
    tare up filters/c-module     start one variant and leave it running

    \b
    Completion of names: eval "$(_TARE_COMPLETE=bash_source tare)", or zsh_source or fish_source.
    """


def main() -> None:
    """Entry point.

    Exit codes: 0 done, 1 something failed, 2 usage, 3 a regression, 130 stopped by the user.
    """
    settle()
    try:
        with raising():
            tare(prog_name="tare", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except Interrupted as stopped:
        say(str(stopped))
        sys.exit(130)
    except UnknownName as error:
        say(str(error))
        sys.exit(2)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        say(
            f"{error.name} is not installed; install tare with it, in a clone: "
            f"uv tool install '.[{extra}]'"
        )
        sys.exit(1)
    except OSError as error:
        say(unwritable(error))
        sys.exit(1)
    except (TareError, ReportError) as error:
        say(str(error))
        sys.exit(1)
