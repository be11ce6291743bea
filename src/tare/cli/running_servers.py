"""Servers of a duel that run already, named by their URLs."""

from collections.abc import Sequence

import click

from tare.cli import sockets
from tare.cli.protocols import SCHEMES, parsed
from tare.lab.machine import running
from tare.model.role import Running

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def are_urls(commands: Sequence[str]) -> bool:
    """Return true if the COMMANDs are URLs of servers. Raises click.UsageError for a mixture."""
    if url := next(filter(sockets.is_socket, commands), None):
        raise click.UsageError(
            f"{url}: a server that runs already is found by its port, and this one has a socket; "
            "write the command that starts it, and --url http://unix:{folder}/NAME:/PATH"
        )
    schemes = tuple(f"{scheme}://" for scheme in SCHEMES)
    urls = [text for text in commands if text.startswith(schemes)]
    if urls and len(urls) < len(commands):
        raise click.UsageError(
            "found URLs and commands, expected only one kind: a server that tare starts has its "
            "CPUs to itself, and one that runs already has not"
        )
    return bool(urls)


def common(urls: Sequence[str]) -> str:
    """Return the first URL, whose scheme and path all have. Raises click.UsageError."""
    parts = [parsed(url) for url in urls]
    kinds = {f"{each.scheme}://HOST:PORT{each.path or '/'}?{each.query}" for each in parts}
    if len(kinds) > 1:
        raise click.UsageError(
            "the URLs differ in more than host and port, expected the same scheme and path"
        )
    return urls[0]


def found(urls: Sequence[str], protocol: str) -> list[Running]:
    """Return the processes behind the URLs. Raises click.UsageError for a URL without a host, or
    two of one server, and RoleError for a URL without a server that can be measured.
    """
    known = []
    for url in urls:
        parts = parsed(url)
        try:
            host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
        except ValueError as error:
            raise click.UsageError(f"{url}: {error}") from error
        if host is None or port is None:
            lacking = "host" if host is None else "port"
            expected = f"{parts.scheme}://127.0.0.1:PORT"
            raise click.UsageError(f"{url}: found no {lacking}, expected {expected}")
        kind = "udp" if protocol == "h3" else "tcp"
        process = running.identity(host, port, kind)
        known.append(Running(host=host, port=port, kind=kind, process=process))
    if len({each.process for each in known}) < len(known):
        raise click.UsageError("two URLs lead to one process, expected a process for each")
    return known
