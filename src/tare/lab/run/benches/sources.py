"""Digest of what must be alike on all benches: the laboratory and the experiment."""

import hashlib

from tare.lab.paths import ROOT
from tare.lab.project.catalog import Loaded
from tare.lab.project.preparation import Prepared, fingerprint

_LABORATORY = ("src/tare", "crates", "components")
_PARTS = (".py", ".rs", ".c", ".h", ".toml", ".lock", ".j2")


def digest(loaded: Loaded) -> str:
    """Return the digest, without what is built."""
    return of_laboratory() + fingerprint(loaded, Prepared())


def of_laboratory() -> str:
    """Return the digest of the laboratory alone."""
    total = hashlib.sha256()
    for folder in _LABORATORY:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in _PARTS and file.is_file():
                total.update(f"{file.relative_to(ROOT)}\0".encode())
                total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()
