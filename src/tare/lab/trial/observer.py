"""The dialogue with a program that looks at processes by BPF: words to it, lines of JSON back."""

import json
import os
import select
import time
from typing import Any

from tare.lab.errors import RoleError, Unavailable
from tare.lab.machine.process import Process

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

    def _line(self, give_up: float) -> bytes:
        stream = self._process.child.stdout
        assert stream is not None
        while b"\n" not in self._pending:
            left = give_up - time.monotonic()
            if left <= 0 or not select.select([stream], [], [], left)[0]:
                raise RoleError(f"{self._role} did not answer within {_PATIENCE_S:g} s")
            chunk = os.read(stream.fileno(), 1 << 20)
            if not chunk:
                raise RoleError(f"{self._role} ended early{self._process.last_words()}")
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line
