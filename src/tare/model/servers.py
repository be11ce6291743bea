"""A user's own servers, without manifests: how each is started, and what both are asked."""

from typing import Literal, get_args

from pydantic import Field, model_validator

from tare.model.base import Record
from tare.model.fields import Name
from tare.model.role import Running
from tare.model.study import Slices

EXPERIMENT = "servers"
"""What a run of them is called."""
REQUEST, START = "request", "start"
"""The parameters that say what they are asked, and how they are prepared."""


class Expected(Record):
    """A server's right answer, as it was seen before anything was measured."""

    status: int
    body_sha256: str | None = None
    """None where the body changes from request to request."""
    body_length: int | None = None


class Server(Record):
    """One server: a command of the shell, in which {port}, {folder}, {cpus}, {host} and {backend}
    are filled in, and {file:PATH} is a copy of a file in which they are.
    """

    name: Name
    command: str = Field(min_length=1)
    folder: str
    """Where the command runs."""
    running: Running | None = None
    """The server runs already; `command` is then its URL."""
    version: str = "as given"
    expected: list[Expected] = []
    """One for each request, once it is known."""


Body = str | dict[Literal["base64", "file"], str] | dict[Literal["size"], int]
"""A text, bytes, the content of a file, or so many arbitrary bytes."""
Headers = dict[str, str | list[str]]
"""Name → value, or several, each of which is sent as a header of its own."""


class Mixed(Record):
    """One of several requests, without what all have in common."""

    url: str = Field(pattern=r"^/\S*$")
    """Path and query."""
    method: str | None = Field(default=None, pattern=r"^\S+$")
    headers: Headers = {}
    body: Body | None = None
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class Asked(Record):
    """A request as it is sent."""

    path: str
    method: str
    headers: Headers
    body: Body | None


class Request(Record):
    """The request that all are sent, or what all of a mix have in common."""

    scheme: Literal["http", "https", "ws", "wss", "tcp"] = "http"
    protocol: Literal["h1", "h2", "h3", "auto", "grpc", "ws", "echo", "proto"] = "h1"
    socket: str | None = Field(default=None, pattern=r"^\{folder\}/[^\s:]+$")
    """The Unix socket that each server listens on, instead of its port."""
    path: str = "/"
    method: str = "GET"
    headers: Headers = {}
    body: Body | None = None


LogFormat = Literal["combined", "json", "har"]
LOG_FORMATS: tuple[LogFormat, ...] = get_args(LogFormat)


class Replay(Record):
    """An access log whose requests are sent in its order: at its own times, unless the servers are
    to answer as fast as they can.
    """

    file: str
    format: LogFormat | None = None
    """None: the one that it seems to have."""
    speed: float = Field(default=1.0, gt=0)
    """Seconds of the log in a second of the run."""


class Load(Record):
    """The load: by the clock at `rate`, or without one as fast as the servers answer. A log that is
    replayed by the clock has its own times, and `rate` is their mean.
    """

    rate: float | None = Field(default=None, gt=0)
    connections: int = Field(default=16, ge=1)
    depth: int = Field(default=1, ge=1)
    """Requests in flight on each connection."""
    duration_s: float = Field(default=1.0, gt=0)
    warmup_s: float = Field(default=0.3, ge=0)
    slices: Slices = Slices()
    """The turns of a duel."""


class Servers(Record):
    """The servers, the first of which is the baseline; stored as servers.json of their run."""

    servers: list[Server] = Field(min_length=1)
    request: Request = Request()
    mix: list[Mixed] = []
    """Several requests instead of the one."""
    in_order: bool = False
    """The mix is sent one after the other, and not by weights."""
    replay: Replay | None = None
    """The requests of a log instead of the one."""
    load: Load = Load()
    environment: dict[str, str] = {}
    backend: bool = False
    """Each server stands before an origin of its own, whose place {backend} is."""
    setup: str | None = None
    """A command of the shell before each start, filled in as the servers' commands are."""
    ready_s: float = Field(default=30.0, gt=0)
    """How long a server may take until it accepts connections."""
    margin_pct: float = Field(default=1.0, gt=0)
    """The margin of equivalence."""

    @model_validator(mode="after")
    def _names_differ(self) -> "Servers":
        names = [server.name for server in self.servers]
        if len(set(names)) < len(names):
            raise ValueError(f"names that differ, and not {', '.join(names)}")
        return self

    @property
    def running(self) -> bool:
        """Return true if the servers were started by somebody else."""
        return any(server.running for server in self.servers)
