"""Rendered files as a run's environment keeps them: neither bodies nor folders of this machine."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

_LONGEST = 16384
"""Characters of a file that is kept whole: a longer one is a body, and no configuration."""


def kept(text: str, folders: Mapping[str, Path]) -> str:
    """Return `text` with `folders` (name → folder, inner ones first) by their names.

    A long text becomes its length and its digest.
    """
    if len(text) > _LONGEST:
        data = text.encode()
        return f"({len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()})"
    for name, folder in folders.items():
        text = text.replace(str(folder), f"${name}")
    return text
