"""Read a program's version, which also proves that it is there and runs."""

import re
import subprocess
from collections.abc import Mapping
from typing import Any

from tare.lab.errors import BuildError
from tare.lab.missing import remedy
from tare.lab.project import render
from tare.model.manifest import Version

_PATIENCE_S = 20


def read(version: Version, names: Mapping[str, Any], where: str) -> str:
    """The version, by asking. Raises BuildError when it does not answer, or is another one."""
    argv = [render.text(part, names, where) for part in version.argv]
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        what = f"{where}: cannot ask {argv[0]} for its version: {error}"
        raise BuildError(f"{what}{remedy(argv[0], error)}") from error
    answer = done.stdout + done.stderr
    match = re.search(version.pattern, answer)
    if match is None:
        raise BuildError(
            f"{where}: {' '.join(argv)} answered {answer.strip()[:200]!r}, "
            f"expected something like {version.pattern!r}"
        )
    found = match.group(1)
    if version.expect is not None and found != version.expect:
        raise BuildError(f"{where}: version {found} is installed, expected {version.expect}")
    return found
