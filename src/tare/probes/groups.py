"""The control groups of this process."""

import contextlib
from pathlib import Path


def own_paths(file: Path = Path("/proc/self/cgroup")) -> dict[str, str]:
    """Path of the own group by controller, that of v2 under "" (cgroups(7))."""
    paths: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in file.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            paths.update(dict.fromkeys(controllers.split(","), path))
    return paths
