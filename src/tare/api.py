"""The Python interface: runs as tables, and duels of your own servers, in a notebook or a script.

Example:

    import tare

    run = tare.duel("./old {port}", "./new {port}", rate=5000, within="1m")
    print(run.answers[0])
    run.frame("trials")

The options of `duel` are those of `tare duel`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.lab.errors import TareError
from tare.model.results import Results
from tare.report import folder as run_folder
from tare.report import frames, results
from tare.report.errors import ReportError
from tare.report.folder import RunFolder

if TYPE_CHECKING:
    import polars

__all__ = ["ReportError", "Run", "TareError", "duel", "load_run"]

Option = str | int | float | bool | Path | Sequence[str | Path] | None


@dataclass(frozen=True)
class Run:
    """A run as it lies in its folder, finished or not."""

    folder: RunFolder

    @cached_property
    def results(self) -> Results:
        """Everything that `results.json` has, as records; made of the trials anew."""
        return results.make(self.folder)

    @property
    def answers(self) -> list[str]:
        """The answer in sentences."""
        return self.results.answers

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of `trials`, `summary`, `slopes` or `pairs`. Raises KeyError."""
        return [dict(row) for row in frames.tables(self.folder, self.results)[table]]

    def frame(self, table: str) -> "polars.DataFrame":
        """Return the same as a polars data frame. Raises KeyError, and ImportError without polars
        (`pip install polars`).
        """
        import polars

        kinds = {"text": polars.String, "whole": polars.Int64, "number": polars.Float64}
        schema = {name: kinds[kind] for name, kind in frames.COLUMNS[table].items()}
        return polars.DataFrame(self.rows(table), schema=schema)


def load_run(path: str | Path) -> Run:
    """Return the run in a folder of runs/, or of record/. Raises ReportError for anything else."""
    return Run(run_folder.read(Path(path)))


def duel(*commands: str, **options: Option) -> Run:
    """Compare the servers that the commands start, as `tare duel` does; its options are keywords
    (`within="1m"`, `name=["a", "b"]`, `saturated=True`).

    Raises click.UsageError for an option that does not exist or has no such value, and TareError
    for servers that do not start or do not answer alike.
    """
    from tare.cli import duel as command
    from tare.cli.own_servers import prepare
    from tare.cli.running import execute, written
    from tare.cli.server_options import Asked

    with command.command.make_context("tare.duel", [*_words(options), "--", *commands]) as context:
        given = {key: item for key, item in context.params.items() if key != "as_json"}
        store = prepare(Asked(**given))
    execute(store)
    written(store.folder)
    return load_run(store.folder)


def _words(options: dict[str, Option]) -> list[str]:
    """The words of a command line that say the same; None is an option that is not given."""
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not False and value is not None:
            several = [value] if isinstance(value, str | int | float | Path) else value
            for each in several:
                words += [option, str(each)]
    return words
