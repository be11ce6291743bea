"""An instrument that asks instead of measuring: each request once, and the answers kept whole."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tare.lab.errors import ManifestError, RoleError
from tare.lab.machine.process import Process, ending

ROLE = "ask"
_UNUSABLE = 2
"""The exit code for a spec that cannot be used."""
_ANSWER_S = 10.0
"""How long one answer may take."""
_ALL_S = 90.0
"""How long all may take: less than a hook may."""
_SLACK_S = 15.0


def ask(
    launch: Callable[[list[str]], Process], argv: list[str], spec: dict[str, Any], folder: Path
) -> dict[str, Any]:
    """Launch the instrument with this spec, written into `folder`, and return its result with
    `answers` (docs/FORMAT.md). `launch` starts a command whose output is piped.

    Raises RoleError where there is no result, with its last lines, and ManifestError for a spec
    that cannot be used.
    """
    file = folder / "ask.json"
    # What is made from the seed must be the same each time, or answers could not be compared.
    asking = {"ask": True, "seed": 0, "timeout_s": _ANSWER_S, "duration_s": _ALL_S}
    file.write_text(json.dumps(spec | asking))
    process = launch([*argv, "--spec", str(file)])
    try:
        printed, _ = process.child.communicate(timeout=_ALL_S + _SLACK_S)
    except subprocess.TimeoutExpired as error:
        raise RoleError(f"the requests were not asked within {_ALL_S:g} s") from error
    finally:
        process.kill()
    if (code := process.child.returncode) == _UNUSABLE:
        said = process.last_words().removeprefix(": ").removeprefix("tare-load: ")
        raise ManifestError(f"the load generator cannot send this: {said}")
    if code:
        raise RoleError(f"the load generator ended with {ending(code)}{process.last_words()}")
    return dict(json.loads(printed.splitlines()[-1]))
