"""Waits for a role to be ready, on whichever host it runs."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tare.lab.errors import RoleError
from tare.lab.machine import listening
from tare.lab.machine.hosts.host import Host
from tare.lab.machine.process import Process, Started, Watched, wait_until
from tare.lab.project import render
from tare.model.role import Ready


def await_ready(
    host: Host,
    process: Started,
    ready: Ready,
    names: Mapping[str, Any],
    where: str,
    everyone: Sequence[Watched],
) -> None:
    """Wait for the sign that a process of a host is ready, while `everyone` lives.

    Raises RoleError when it does not come in time, and ManifestError that names `where`.
    """
    kind = "tcp" if ready.tcp else "udp"
    doors: dict[str, Callable[[], bool]] = {}
    for port in (int(render.text(port, names, where)) for port in (*ready.tcp, *ready.udp)):
        doors[f"port {port} of {names['host']}"] = partial(host.answers, kind, port, names["host"])
    for path in (render.text(path, names, where) for path in ready.unix):
        listening.refuse_long(path)
        doors[f"socket {path}"] = partial(host.accepts, path)
    wanted = render.text(ready.path or "", names, where)

    def accepts() -> bool:
        # A server opens one after the other.
        return all(answers() for answers in doors.values())

    def exists() -> bool:
        return host.exists(wanted)

    def logged() -> bool:
        return re.search(ready.log or "", process.log.read_text(errors="replace")) is not None

    holds = accepts if doors else exists if ready.path else logged
    if not wait_until(holds, everyone, ready.timeout_s):
        silent = next((door for door, answers in doors.items() if not answers()), None)
        what = silent or wanted or f"{ready.log!r} in its log"
        raise RoleError(
            f"role {process.role} was not ready within {ready.timeout_s:g} s "
            f"({what}{_elsewhere(process)}){process.last_words()}"
        )


def _elsewhere(process: Started) -> str:
    """Return where a process of this machine listens instead."""
    ports = listening.ports_of(process.pids()) if isinstance(process, Process) else []
    told = [f"port {port} of {address}" for port, address in ports]
    return f"; it listens on {', '.join(told)}" if told else ""
