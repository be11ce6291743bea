"""`tare`: finds the command, runs it, and turns failures into sentences and exit codes."""

import importlib
import sys
from typing import Any

import click

from tare.lab.errors import Interrupted, TareError, UnknownName
from tare.lab.interrupt import raising
from tare.report.errors import ReportError

_COMMANDS = (
    "duel", "gate", "tail", "calibrate", "run", "resume", "new", "list", "show", "doctor", "setup",
    "check", "up", "down", "restart", "status", "stats", "watch", "logs",
    "load", "report", "export", "compare", "history", "hosts", "clean", "test",
)  # fmt: skip


class Commands(click.Group):
    """One module a command, imported when it is asked for: a warm `tare list` stays quick."""

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
    tare run filters --quick     four minutes, a table with intervals and verdicts
    tare list                    the experiments and their variants
    tare up filters/c-module     start one variant and leave it running
    """


def main() -> None:
    """Entry point.

    Exit codes: 0 done, 1 something failed, 2 usage, 3 a regression, 130 stopped by the user.
    """
    try:
        with raising():
            tare(prog_name="tare", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except Interrupted as stopped:
        click.echo(f"tare: {stopped}", err=True)
        sys.exit(130)
    except UnknownName as error:
        click.echo(f"tare: {error}", err=True)
        sys.exit(2)
    except (TareError, ReportError, OSError) as error:
        click.echo(f"tare: {error}", err=True)
        sys.exit(1)
