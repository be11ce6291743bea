"""The options of `tare duel`, `tare gate` and `tare tail`: what is asked, and how."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from tare.cli.looks import tail_option, why_option
from tare.cli.protocols import PROTOCOLS
from tare.cli.ranges import Amount, Count
from tare.cli.span import span_option
from tare.model.servers import LOG_FORMATS, LogFormat

READY_S = 30.0
"""Seconds that a server may take unless others are given."""
_ASKING = (
    click.option("--get", "path", metavar="PATH", help="The path to request; / by default."),
    click.option(
        "--requests",
        "requests_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Several requests, one a line: a path, a method and a path, or JSON with weights.",
    ),
    click.option("--in-order", is_flag=True, help="Send --requests one after the other."),
    click.option(
        "--replay",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Send an access log's requests in its order and with its gaps, as tare load does.",
    ),
    click.option("--log-format", type=click.Choice(LOG_FORMATS), help="Format of --replay."),
    click.option(
        "--speed", type=Amount(), help="Seconds of the log per second of the run; by default 1."
    ),
    click.option(
        "--url",
        metavar="URL",
        help="Scheme (http, https, ws, wss or tcp) and path; by default http://127.0.0.1:{port}/, "
        "or the usual scheme of --protocol. For a server on a Unix socket: "
        "http://unix:{folder}/NAME:/PATH or unix:{folder}/NAME.",
    ),
    click.option(
        "-p",
        "--protocol",
        type=click.Choice(PROTOCOLS),
        help="As for tare load; by default ws for ws:// and wss://, echo for tcp://, else h1.",
    ),
    click.option("-X", "--method", default="GET", show_default=True, help="The request's method."),
    click.option(
        "-H",
        "--header",
        "headers",
        multiple=True,
        metavar="NAME: VALUE",
        help="A header of the request; repeatable.",
    ),
    click.option("--body", metavar="TEXT", help="Body of the request, or message of the call."),
    click.option(
        "--body-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A file with the body or message.",
    ),
    click.option(
        "-s",
        "--size",
        type=Count(1),
        metavar="BYTES",
        help="Size of the message to echo, or of an arbitrary body.",
    ),
    click.option(
        "-c",
        "--connections",
        type=Count(1),
        default=16,
        show_default=True,
        help="Connections to each server.",
    ),
    click.option(
        "-m",
        "--depth",
        type=Count(1),
        default=1,
        show_default=True,
        help="Requests in flight on each connection: pipelined, or in streams of h2, h3 and grpc.",
    ),
    span_option(
        "--ready-within",
        "ready_s",
        f"{READY_S:g}s",
        "How long a server may take until it accepts connections.",
    ),
    click.option(
        "--env",
        "environment",
        multiple=True,
        metavar="NAME=VALUE",
        help="A variable of each server's environment; repeatable.",
    ),
    click.option(
        "--backend",
        is_flag=True,
        help="Start an origin behind each server, a proxy; {backend} is the origin's HOST:PORT.",
    ),
    click.option(
        "--setup",
        metavar="COMMAND",
        help="Run before each start of a server; {port}, {folder} and the like are filled in.",
    ),
)
"""How servers are started and asked."""
_DUELING = (
    click.option(
        "--rate",
        type=Amount(),
        help="Requests per second; by default 40 % of what the slower server can answer.",
    ),
    click.option(
        "--against",
        metavar="REF|DIR",
        help="Compare the work tree with this git ref, or with another work tree; one COMMAND then "
        "starts either.",
    ),
    click.option(
        "--build",
        metavar="COMMAND",
        help="Build each version with this, in separate worktrees; with --against.",
    ),
    click.option(
        "--name",
        "names",
        multiple=True,
        help="A server's name, in order of COMMANDs; repeatable.",
    ),
    click.option("--saturated", is_flag=True, help="Send as fast as servers answer."),
    span_option(
        "--within",
        "within_s",
        None,
        "The most time for duels, which end as soon as every verdict is there; by default 30 s, or "
        "90 s with --why or --tail.",
    ),
    click.option("--duels", type=Count(1), help="Run exactly this many duels."),
    click.option(
        "--duration",
        type=Amount(),
        default=1.0,
        metavar="S",
        help="Seconds of a duel; by default 1.",
    ),
    click.option(
        "--margin",
        type=Amount(),
        default=1.0,
        metavar="PERCENT",
        help="Margin of equivalence; by default 1.",
    ),
    click.option(
        "--allow",
        multiple=True,
        metavar="status|body|header:NAME",
        help="Allow this difference between the answers; repeatable.",
    ),
    why_option,
    tail_option,
    click.option("--seed", type=int, help="Seed of order, ports, layout and arrivals."),
)
"""How they are compared."""


def servers(metavar: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the argument of the servers' commands, or of URLs where a command takes them."""
    return click.argument("commands", nargs=-1, required=True, metavar=metavar)


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how servers are started and asked."""
    for option in reversed(_ASKING):
        command = option(command)
    return command


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what is compared, and how."""
    for option in reversed(_DUELING):
        command = option(command)
    return asking(command)


@dataclass(frozen=True)
class Asked:
    """The options as they were given."""

    commands: tuple[str, ...]
    path: str | None
    requests_file: Path | None
    in_order: bool
    replay: Path | None
    log_format: LogFormat | None
    speed: float | None
    url: str | None
    protocol: str | None
    method: str
    headers: tuple[str, ...]
    body: str | None
    body_file: Path | None
    size: int | None
    connections: int
    depth: int
    rate: float | None
    ready_s: float
    environment: tuple[str, ...]
    backend: bool
    setup: str | None
    duration: float
    against: str | None = None
    build: str | None = None
    names: tuple[str, ...] = ()
    saturated: bool = False
    within_s: float | None = None
    duels: int | None = None
    margin: float = 1.0
    allow: tuple[str, ...] = ()
    why: bool = False
    tail: bool = False
    hosts: Path | None = None
    seed: int | None = None
