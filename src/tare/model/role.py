"""Roles: the processes of a variant, and the instrument that measures it."""

import re
from typing import Any, Literal

from pydantic import Field, model_validator

from tare.model.base import Record
from tare.model.fields import Cpus, Key, Netns, Pattern, Priority, Within

INSTRUMENT_ROLE = "load"
"""The name under which the instrument runs as a role."""
GENERATORS = "generators"
"""The parameter of every study that says how many generators make the load, on each of its hosts.
"""


def is_instrument(role: str) -> bool:
    """Return true for the name under which the instrument runs, or one of several generators."""
    return re.fullmatch(rf"{INSTRUMENT_ROLE}(-\d+)?", role) is not None


class Ready(Record):
    """The sign that a role is ready: ports or Unix sockets that all accept, ports that are bound, a
    file, or a line in its log.
    """

    tcp: list[str] = []
    udp: list[str] = []
    unix: list[str] = []
    path: str | None = None
    log: Pattern | None = None
    timeout_s: float = Field(default=10.0, gt=0)

    @model_validator(mode="after")
    def _one_kind(self) -> "Ready":
        if sum(bool(kind) for kind in (self.tcp, self.udp, self.unix, self.path, self.log)) != 1:
            raise ValueError("exactly one of tcp, udp, unix, path, log")
        return self


class Limits(Record):
    """The most that a role may have, imposed by its control group; templates. 0: no limit."""

    cpus: float | str | None = None
    """CPU seconds a second."""
    memory_mb: float | str | None = None
    """Of 1024 × 1024 bytes, swap included."""
    read_mb_per_s: float | str | None = None
    """Of 1024 × 1024 bytes, from the disk that the role's folder is on."""


class Running(Record):
    """The processes of a role that run already, by the port that they listen on."""

    host: str
    port: int = Field(ge=1, le=65535)
    kind: Literal["tcp", "udp"] = "tcp"
    process: str
    """The number and the start of the first process that listens, as they were first seen."""


class Role(Record):
    """A part that runs as a process of its own. Without argv or running the variant has no such
    role.
    """

    argv: list[str] = []
    running: Running | None = None
    """It was started by somebody else, and is not stopped."""
    files: dict[Within, str] = {}
    """File in the role's folder → template, sought in the variant, then the experiment.

    Both names are templates themselves."""
    env: dict[str, str] = {}
    ports: list[Key] = []
    """Those of the variant's ports that it listens on: they are on its host."""
    cpus: Cpus = "server"
    netns: Netns = "laboratory"
    limits: Limits = Limits()
    priority: Priority | None = None
    """Without it, the experiment's."""
    ready: Ready | None = None
    stop_signal: Literal["TERM", "QUIT", "INT"] = "TERM"
    stop_timeout_s: float = Field(default=5.0, gt=0)


class Instrument(Record):
    """The program that measures: `argv --spec FILE`, speaking the instrument protocol."""

    argv: list[str] = Field(min_length=1)
    spec: dict[str, Any]
    cpus: Cpus = "client"
