"""The option that names a folder with variants of the user's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tare.lab.project.index import experiment_names

F = TypeVar("F", bound=Callable[..., Any])


def _checked(_context: click.Context, _parameter: click.Parameter, folder: Path | None) -> Any:
    if folder is None:
        return None
    found = {file.parents[1].name for file in folder.glob("*/*/variant.toml")}
    if not found:
        raise click.BadParameter(
            f"{folder} holds no variant: expected EXPERIMENT/VARIANT/variant.toml in it; "
            "tare new makes one"
        )
    known = experiment_names()
    for name in sorted(found - {*known}):
        raise click.BadParameter(
            f"{folder / name}: expected the name of an experiment: {', '.join(known)}"
        )
    return folder.resolve()


def variants_dir_option(command: F) -> F:
    """Add --variants-dir, which becomes `variants_dir`, an absolute path or None."""
    return click.option(
        "--variants-dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        callback=_checked,
        help="A folder with variants of your own, EXPERIMENT/VARIANT in it.",
    )(command)
