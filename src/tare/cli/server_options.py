"""The options of `tare duel` and `tare gate`: what is compared, and how."""

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
    click.argument("commands", nargs=-1, required=True, metavar="COMMAND|URL..."),
    click.option("--get", "path", metavar="PATH", help="The path that is asked for; / without it."),
    click.option(
        "--requests",
        "requests_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Several requests, one a line: a path, a method and a path, or JSON with weights.",
    ),
    click.option("--in-order", is_flag=True, help="Those of --requests one after the other."),
    click.option(
        "--replay",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="The requests of an access log in its order and with its gaps, as of tare load.",
    ),
    click.option("--log-format", type=click.Choice(LOG_FORMATS), help="Format of --replay."),
    click.option(
        "--speed", type=Amount(), help="Seconds of the log in a second of the run; without it 1."
    ),
    click.option(
        "--url",
        metavar="URL",
        help="Scheme and path, as of http://, https://, ws://, wss:// and tcp://; without it "
        "http://127.0.0.1:{port}/, or the usual scheme of --protocol. Of a server on a Unix socket "
        "http://unix:{folder}/NAME:/PATH, or unix:{folder}/NAME.",
    ),
    click.option(
        "-p",
        "--protocol",
        type=click.Choice(PROTOCOLS),
        help="As of tare load; without it ws for ws:// and wss://, echo for tcp://, else h1.",
    ),
    click.option("-X", "--method", default="GET", show_default=True),
    click.option("-H", "--header", "headers", multiple=True, metavar="NAME: VALUE"),
    click.option("--body", metavar="TEXT", help="Body of the request, or message of the call."),
    click.option("--body-file", type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    click.option(
        "-s",
        "--size",
        type=Count(1),
        metavar="BYTES",
        help="Of the message to echo, or of an arbitrary body.",
    ),
    click.option("-c", "--connections", type=Count(1), default=16, show_default=True),
    click.option(
        "-m",
        "--depth",
        type=Count(1),
        default=1,
        show_default=True,
        help="Requests in flight on each connection: pipelined, or in streams of h2, h3 and grpc.",
    ),
    click.option(
        "--rate",
        type=Amount(),
        help="Requests per second; without it 40 % of what the slower server can answer.",
    ),
    span_option(
        "--ready-within",
        "ready_s",
        f"{READY_S:g}s",
        "How long a server may take until it accepts connections.",
    ),
    click.option("--env", "environment", multiple=True, metavar="NAME=VALUE"),
    click.option(
        "--backend",
        is_flag=True,
        help="Start an origin for each server, a proxy; {backend} is its HOST:PORT.",
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
        "--against",
        metavar="REF",
        help="Compare the work tree with this git ref; one COMMAND then starts either.",
    ),
    click.option(
        "--build", metavar="COMMAND", help="Builds a ref, in a worktree of its own; with --against."
    ),
    click.option("--name", "names", multiple=True, help="A server's name, in order of COMMANDs."),
    click.option("--saturated", is_flag=True, help="As fast as they answer, not by the clock."),
    span_option(
        "--within",
        "within_s",
        None,
        "The most time for duels; they end as soon as every verdict is there. Without it 30 s, and "
        "with --why or --tail 90 s.",
    ),
    click.option("--duels", type=Count(1), help="Exactly so many, whatever they show."),
    click.option(
        "--duration", type=Amount(), default=1.0, metavar="S", help="Seconds of a duel; 1."
    ),
    click.option(
        "--margin", type=Amount(), default=1.0, metavar="PERCENT", help="What is equivalent; 1."
    ),
    click.option(
        "--allow",
        multiple=True,
        metavar="status|body|header:NAME",
        help="A difference between the answers that is meant.",
    ),
    why_option,
    tail_option,
    click.option("--seed", type=int, help="Seed of order, ports, layout and arrivals."),
)
"""How they are compared."""


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
