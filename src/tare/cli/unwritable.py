"""Errors of the system about files, and for tare's own folders what to do."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from tare.lab import paths

_FOLDERS: tuple[tuple[str, Callable[[], Path]], ...] = (
    ("TARE_CACHE", paths.cache),
    ("TARE_RUNS", paths.runs),
)
"""The variable that names a folder, and where it is."""
_NO_ROOM_OR_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
"""Errors that another folder helps against."""


def unwritable(error: OSError) -> str:
    """Return the error in a sentence, and for tare's own folders the variable that moves them."""
    if not isinstance(error.filename, str) or error.errno is None:
        return str(error)
    file, reason = Path(error.filename), os.strerror(error.errno)
    for variable, folder in _FOLDERS:
        if error.errno not in _NO_ROOM_OR_RIGHT and folder().is_dir():
            continue  # a file is missing there, or is none; no other folder would help
        if file.is_relative_to(folder()) or folder().is_relative_to(file):
            return (
                f"cannot write {file} ({reason}); set {variable} to a folder that you may write "
                f"(now it is {folder()})"
            )
    return f"{file}: {reason}"
