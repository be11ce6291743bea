"""Errors of the system about tare's own folders, with what to do."""

import os
from collections.abc import Callable
from pathlib import Path

from tare.lab import paths

_FOLDERS: tuple[tuple[str, Callable[[], Path]], ...] = (
    ("TARE_CACHE", paths.cache),
    ("TARE_RUNS", paths.runs),
)
"""The variable that names a folder, and where it is."""


def unwritable(error: OSError) -> str:
    """Return the error in a sentence, and for tare's own folders the variable that moves them."""
    if not isinstance(error.filename, str) or error.errno is None:
        return str(error)
    file, reason = Path(error.filename), os.strerror(error.errno)
    for variable, folder in _FOLDERS:
        if file.is_relative_to(folder()) or folder().is_relative_to(file):
            return (
                f"cannot write {file} ({reason}); set {variable} to a folder that you may write "
                f"(now it is {folder()})"
            )
    return str(error)
