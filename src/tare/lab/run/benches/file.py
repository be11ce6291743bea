"""Read benches.toml."""

from pathlib import Path

from tare.lab.run import settings
from tare.model.benches import Benches


def read(file: Path) -> Benches:
    """Return the benches of a file; `keys` is then the folder itself. Raises ManifestError."""
    found = settings.read(Benches, file)
    return found.model_copy(update={"keys": str((file.parent / found.keys).resolve())})
