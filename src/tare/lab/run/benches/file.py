"""Read benches.toml."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from tare.lab.errors import ManifestError
from tare.model.benches import Benches


def read(file: Path) -> Benches:
    """Return the benches of a file; `keys` is then the folder itself. Raises ManifestError."""
    try:
        table = tomllib.loads(file.read_text())
    except OSError as error:
        raise ManifestError(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{file}: {error}") from error
    try:
        found = Benches.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise ManifestError(f"{file}: {field}: {first['msg']}") from error
    return found.model_copy(update={"keys": str((file.parent / found.keys).resolve())})
