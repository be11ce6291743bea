"""The limits in a role's manifest, with templates rendered."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tare.lab.errors import ManifestError
from tare.lab.machine.limits import Caps, disk
from tare.lab.project import render
from tare.model.role import Limits

_LEAST_CPUS = 0.01
"""The kernel takes no quota below 1 ms."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MIB = 1 << 20


def caps(limits: Limits, names: Mapping[str, Any], where: str) -> Caps:
    """Render the templates of a role's limits.

    Raises ManifestError that names `where`, and Unavailable for a folder that is on no disk.
    """
    cpus = _number(limits.cpus, _LEAST_CPUS, names, f"{where}: limits.cpus")
    memory_mb = _number(limits.memory_mb, 1, names, f"{where}: limits.memory_mb")
    memory = int(memory_mb * _MIB) // _PAGE * _PAGE if memory_mb else None
    read_mb = _number(limits.read_mb_per_s, 1, names, f"{where}: limits.read_mb_per_s")
    if not read_mb:
        return Caps(cpus, memory)
    return Caps(cpus, memory, int(read_mb * _MIB), disk(Path(names["folder"])))


def _number(template: Any, least: float, names: Mapping[str, Any], where: str) -> float | None:
    found = render.value(template, names, where)
    try:
        number = float(found or 0)
        if number == 0 or number >= least:
            return number or None
    except (TypeError, ValueError):
        pass
    raise ManifestError(f"{where}: found {found!r}, expected 0 (no limit) or at least {least:g}")
