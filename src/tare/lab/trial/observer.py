"""The dialogue with a program that looks at processes by BPF: words to it, lines of JSON back."""

import json
import os
import select
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import ValidationError

from tare.lab.errors import RoleError, Unavailable
from tare.lab.machine.process import Process
from tare.lab.trial.site import Site
from tare.model.base import Record

R = TypeVar("R", bound=Record)

_PATIENCE_S = 20.0
"""For an answer: to load programs into the kernel, and to name all addresses."""


class Observer:
    """A program that looks at processes: its lines, said and heard."""

    def __init__(self, process: Process, role: str) -> None:
        self._process, self._role, self._pending = process, role, b""

    def say(self, word: str) -> None:
        """Say a word. Raises RoleError if nobody listens."""
        stream = self._process.child.stdin
        assert stream is not None
        try:
            stream.write(word.encode() + b"\n")
            stream.flush()
        except OSError as error:
            raise RoleError(f"{self._role} ended early{self._process.last_words()}") from error

    def hear(self, wanted: str) -> dict[str, Any]:
        """Return the next event, which is to be called so. Raises RoleError for another, and
        Unavailable where it cannot look.
        """
        try:
            event = json.loads(self._line(time.monotonic() + _PATIENCE_S))
        except ValueError as error:
            raise RoleError(f"{self._role}: a malformed answer: {error}") from error
        match event:
            case {"event": "unavailable", "reason": reason}:
                raise Unavailable(reason)
            case {"event": name} if name == wanted:
                return dict(event)
        raise RoleError(f"{self._role}: found {str(event)[:80]}, expected the event {wanted}")

    def follow(self, event: Mapping[str, Any]) -> None:
        """Let it look at what an instrument measures, whose events these are. Raises RoleError."""
        match event.get("event"):
            case "measure":
                self.say("begin")
                self.hear("begun")
            case "measured":
                self.say("end")

    def answer(self, kind: type[R], name: str) -> R:
        """Return the record of the next event, which is to be called so. Raises RoleError."""
        found = self.hear(name)
        try:
            return kind.model_validate({key: found[key] for key in found if key != "event"})
        except ValidationError as error:
            raise RoleError(f"{self._role}: a malformed answer: {error}") from error

    def _line(self, give_up: float) -> bytes:
        stream = self._process.child.stdout
        assert stream is not None
        while b"\n" not in self._pending:
            left = give_up - time.monotonic()
            if left <= 0 or not select.select([stream], [], [], left)[0]:
                raise RoleError(
                    f"{self._role} did not answer within {_PATIENCE_S:g} s, perhaps since this "
                    "machine is too busy; stop what else runs, and try again"
                )
            chunk = os.read(stream.fileno(), 1 << 20)
            if not chunk:
                raise RoleError(f"{self._role} ended early{self._process.last_words()}")
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line


@contextmanager
def observing(site: Site, role: str, argv: Sequence[str]) -> Iterator[Observer]:
    """Yield a program, started in the site, that is ready to look at processes.

    Raises RoleError when it fails, and Unavailable where it cannot look.
    """
    process = site.launch(role, list(argv), "support", {}, piped=True, spoken_to=True)
    assert isinstance(process, Process)  # tare run refuses to look at other hosts' processes
    # It ends by itself when it has answered, which is no fault of a role.
    site.processes.pop(role)
    try:
        observer = Observer(process, role)
        observer.hear("ready")
        yield observer
    finally:
        process.kill()
        for stream in (process.child.stdin, process.child.stdout):
            if stream is not None:
                stream.close()
