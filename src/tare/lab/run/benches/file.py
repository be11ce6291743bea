"""Read benches.toml."""

from pathlib import Path

from tare.lab.errors import ManifestError
from tare.lab.project.index import read_toml
from tare.lab.run import settings
from tare.model.benches import Benches


def read(file: Path) -> Benches:
    """Return the benches of a file; `keys` is then the folder itself. Raises ManifestError."""
    if {"hosts", "default"} & read_toml(file).keys():
        raise ManifestError(
            f"{file}: found a file of hosts (docs/HOSTS.md), expected one of benches "
            "(docs/BENCHES.md)"
        )
    found = settings.read(Benches, file)
    return found.model_copy(update={"keys": str((file.parent / found.keys).resolve())})
