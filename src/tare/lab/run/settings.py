"""Files that a user writes for runs, such as hosts.toml and benches.toml."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from tare.lab.errors import ManifestError
from tare.lab.project import faults
from tare.lab.project.index import read_toml
from tare.model.base import Record

R = TypeVar("R", bound=Record)


def read(kind: type[R], file: Path) -> R:
    """Return what a file says. Raises ManifestError with a line for each fault."""
    try:
        return kind.model_validate(read_toml(file))
    except ValidationError as error:
        raise ManifestError("\n".join(f"{file}: {each}" for each in _faults(error))) from error


def _faults(error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        # A check over several fields says itself which.
        own = problem["type"] == "value_error"
        what = faults.expected(problem) if own else faults.in_words(problem)
        yield ": ".join(filter(None, (faults.field(problem), what)))
