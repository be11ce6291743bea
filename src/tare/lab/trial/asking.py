"""An instrument that asks instead of measuring: each request once, and the answers kept whole."""

import json
import time
from collections.abc import Callable
from typing import Any

from tare.lab.errors import ManifestError, RoleError
from tare.lab.machine.process import Started, ending

ROLE = "ask"
_UNUSABLE = 2
"""The exit code for a spec that cannot be used."""
_ANSWER_S = 10.0
"""How long one answer may take."""
_ALL_S = 90.0
"""How long all may take: less than a hook may."""
_SLACK_S = 15.0


def ask(launch: Callable[[str], Started], spec: dict[str, Any]) -> dict[str, Any]:
    """Launch the instrument with this spec, and return its result with `answers`
    (docs/FORMAT.md). `launch` starts it with a spec in JSON, its output piped.

    Raises RoleError where there is no result, with its last lines, and ManifestError for a spec
    that cannot be used.
    """
    # What is made from the seed must be the same each time, or answers could not be compared.
    asking = {"ask": True, "seed": 0, "timeout_s": _ANSWER_S, "duration_s": _ALL_S}
    process = launch(json.dumps(spec | asking))
    try:
        printed = _whole(process, _ALL_S + _SLACK_S)
        code = process.wait(_SLACK_S)
    finally:
        process.kill()
    if code == _UNUSABLE:
        said = process.last_words().removeprefix(": ").removeprefix("tare-load: ")
        raise ManifestError(f"the load generator cannot send this: {said}")
    if code is None:
        raise RoleError("the load generator closed its output and did not end")
    if code:
        raise RoleError(f"the load generator ended with {ending(code)}{process.last_words()}")
    return dict(json.loads(printed.splitlines()[-1]))


def _whole(process: Started, patience_s: float) -> bytes:
    """Return all that a process writes. Raises RoleError if that takes too long."""
    give_up, parts = time.monotonic() + patience_s, []
    while chunk := process.output(max(0.0, give_up - time.monotonic())):
        parts.append(chunk)
    if chunk is None:
        raise RoleError(f"the requests were not asked within {_ALL_S:g} s")
    return b"".join(parts)
