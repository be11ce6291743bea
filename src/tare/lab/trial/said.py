"""The lines that instruments print, as they come, with a watch on the roles and on the time."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from tare.lab.errors import RoleError
from tare.lab.machine import host
from tare.lab.machine.process import Started
from tare.lab.trial.site import Site

_TICK_S = 0.2


@dataclass(frozen=True)
class Said:
    """An event of the instrument that runs as a role, or the end of its output."""

    role: str
    at: float
    """When the laboratory read it, by its monotonic clock."""
    event: dict[str, Any] | None


_Heard = tuple[str, float, bytes | None] | BaseException | None
"""A line of a role, or None at the end of its output; what went wrong; or nothing for a while."""


def said(
    sites: Sequence[Site], processes: Mapping[str, Started], patience_s: float
) -> Iterator[Said]:
    """Yield what the instruments of the first site say. Raises RoleError when another role of a
    site ends, or when they have not ended after `patience_s`, and for lines that are no events.
    """
    journal = sites[0].bench.journal
    give_up, next_look = time.monotonic() + patience_s, 0.0
    left = dict.fromkeys(processes)
    for heard in _heard(processes):
        if isinstance(heard, BaseException):
            raise heard
        if heard is not None:
            role, at, line = heard
            if line is None:
                del left[role]
                yield Said(role, at, None)
            else:
                if not line.startswith((b'{"event":"result"', b'{"event": "result"')):
                    journal.write(role, line.decode(errors="replace"))
                yield Said(role, at, _event(line))
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + _TICK_S
            journal.poll()
            for site in sites:
                for role, process in site.processes.items():
                    if role not in processes:
                        process.ensure_alive()
        if left and time.monotonic() > give_up:
            which = "" if len(processes) == 1 else f" {', '.join(left)}"
            raise RoleError(f"the instrument{which} did not end within {patience_s:g} s")


def _heard(processes: Mapping[str, Started]) -> Iterator[_Heard]:
    """Yield what processes print, until all have closed their output; None at least once a tick."""
    if len(processes) == 1:
        ((role, process),) = processes.items()
        yield from _lines(role, process)
        return
    heard: SimpleQueue[_Heard] = SimpleQueue()
    for role, process in processes.items():
        _Follower(role, process, heard.put).start()
    open_ = len(processes)
    while open_:
        try:
            found = heard.get(timeout=_TICK_S)
        except Empty:
            found = None
        if isinstance(found, tuple) and found[2] is None:
            open_ -= 1
        yield found


def _lines(role: str, process: Started) -> Iterator[_Heard]:
    pending = b""
    while (chunk := process.output(_TICK_S)) != b"":
        *lines, pending = (pending + (chunk or b"")).split(b"\n")
        for line in lines:
            yield role, time.monotonic(), line
        yield None
    yield role, time.monotonic(), None


class _Follower(threading.Thread):
    """Passes on what one of several processes prints; it ends with the process."""

    def __init__(self, role: str, process: Started, put: Callable[[_Heard], None]) -> None:
        super().__init__(name=f"tare-{role}", daemon=True)
        self._role, self._process, self._put = role, process, put
        # A thread does not inherit real-time priority.
        self._prompt = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO

    def run(self) -> None:
        if self._prompt:
            host.raise_own_priority()
        try:
            for heard in _lines(self._role, self._process):
                if heard is not None:
                    self._put(heard)
        except BaseException as error:
            self._put(error)


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except json.JSONDecodeError as error:
        raise RoleError(f"the instrument printed {line[:80]!r}, expected JSON") from error
    if not isinstance(event, dict):
        raise RoleError(f"the instrument printed {line[:80]!r}, expected a JSON object")
    return event
