"""A second window of a duel, in which both sides are looked at: it explains, and does not count.

To look at processes costs them time, so what is judged is measured before, without it.
"""

import json
import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tare.lab.errors import RoleError
from tare.lab.machine.process import Process
from tare.lab.trial import instrument
from tare.lab.trial.instrument import Assignment
from tare.lab.trial.site import Site
from tare.model.profile import Explained, Profile
from tare.model.role import INSTRUMENT_ROLE

ROLE = "profiler"
_PATIENCE_S = 20.0
"""For an answer: to load programs into the kernel, and to name all addresses."""


def explain(sites: Mapping[str, Site], what: Assignment, program: Path) -> Explained:
    """Load both sides once more while their processes are looked at; the instrument runs in the
    first site, as does the profiler.

    Raises RoleError when either fails, and where the kernel does not let processes be looked at.
    """
    first = next(iter(sites.values()))
    with _profiler(first, sites, program) as profiler:

        def on(event: Mapping[str, Any]) -> None:
            match event.get("event"):
                case "measure":
                    profiler.say("begin")
                    profiler.hear("begun")
                case "measured":
                    profiler.say("end")

        result = instrument.run(list(sites.values()), what, on)
        found = profiler.hear("profile")
    try:
        profile = Profile.model_validate({key: found[key] for key in found if key != "event"})
    except ValidationError as error:
        raise RoleError(f"{ROLE}: a malformed answer: {error}") from error
    requests = {target.name: target.answered for target in result.targets}
    return Explained(requests=requests, profile=profile)


class _Profiler:
    """The profiler's lines, said and heard."""

    def __init__(self, process: Process) -> None:
        self._process, self._pending = process, b""

    def say(self, word: str) -> None:
        """Say a word. Raises RoleError if nobody listens."""
        stream = self._process.child.stdin
        assert stream is not None
        try:
            stream.write(word.encode() + b"\n")
            stream.flush()
        except OSError as error:
            raise RoleError(f"{ROLE} ended early{self._process.last_words()}") from error

    def hear(self, wanted: str) -> dict[str, Any]:
        """Return the next event, which is to be called so. Raises RoleError for another."""
        try:
            event = json.loads(self._line(time.monotonic() + _PATIENCE_S))
        except ValueError as error:
            raise RoleError(f"{ROLE}: a malformed answer: {error}") from error
        match event:
            case {"event": "unavailable", "reason": reason}:
                raise RoleError(f"processes cannot be looked at: {reason}")
            case {"event": name} if name == wanted:
                return dict(event)
        raise RoleError(f"{ROLE}: found {str(event)[:80]}, expected the event {wanted}")

    def _line(self, give_up: float) -> bytes:
        stream = self._process.child.stdout
        assert stream is not None
        while b"\n" not in self._pending:
            left = give_up - time.monotonic()
            if left <= 0 or not select.select([stream], [], [], left)[0]:
                raise RoleError(f"{ROLE} did not answer within {_PATIENCE_S:g} s")
            chunk = os.read(stream.fileno(), 1 << 20)
            if not chunk:
                raise RoleError(f"{ROLE} ended early{self._process.last_words()}")
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line


@contextmanager
def _profiler(site: Site, sites: Mapping[str, Site], program: Path) -> Iterator[_Profiler]:
    argv = [str(program), "--no-waits", *_roles(sites)]
    pipe = subprocess.PIPE
    process = site.launch(ROLE, argv, "support", {}, stdin=pipe, stdout=pipe)
    # It ends by itself when it has answered, which is no fault of a role.
    site.processes.pop(ROLE)
    try:
        profiler = _Profiler(process)
        profiler.hear("ready")
        yield profiler
    finally:
        process.kill()
        for stream in (process.child.stdin, process.child.stdout):
            if stream is not None:
                stream.close()


def _roles(sites: Mapping[str, Site]) -> Sequence[str]:
    """Return the options that name each side's roles with their processes."""
    return [
        f"--role={side}/{role}={','.join(map(str, process.pids()))}"
        for side, site in sites.items()
        for role, process in site.processes.items()
        if role != INSTRUMENT_ROLE
    ]
