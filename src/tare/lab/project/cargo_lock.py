"""The part of a Cargo.lock that one package is built from, so that no other change rebuilds it.

Format: https://doc.rust-lang.org/cargo/reference/lockfiles.html; a dependency is `name`, with the
version behind it where several are locked, and the source where that is not enough.
"""

import json
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tare.lab.errors import BuildError

Entries = Mapping[str, list[dict[str, Any]]]
"""By the packages' names."""


def content(lock: Path, package: str) -> str:
    """The entries of `package` and of all that it depends on, as text. Raises BuildError."""
    known = _entries(lock.read_text())
    waiting, found = _matching(known, package), dict[tuple[str, ...], dict[str, Any]]()
    if len(waiting) != 1:
        raise BuildError(f"{lock}: found {len(waiting)} packages {package!r}, expected one")
    while waiting:
        entry = waiting.pop()
        key = (entry["name"], entry["version"], entry.get("source", ""))
        if key not in found:
            found[key] = entry
            for dependency in entry.get("dependencies", []):
                waiting += _matching(known, dependency)
    return json.dumps([found[key] for key in sorted(found)], sort_keys=True)


@lru_cache(maxsize=4)
def _entries(text: str) -> Entries:
    """Parse a lock file, which takes as long as all else that a command does first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in tomllib.loads(text).get("package", []):
        found.setdefault(entry["name"], []).append(entry)
    return found


def _matching(known: Entries, dependency: str) -> list[dict[str, Any]]:
    name, *wanted = dependency.split(" ")
    return [
        entry
        for entry in known.get(name, [])
        if [entry["version"], f"({entry.get('source')})"][: len(wanted)] == wanted
    ]
