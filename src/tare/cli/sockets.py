"""URLs of a user's own servers that listen on a Unix socket, as `tare load` writes them."""

import re

import click

_WEB = re.compile(r"(https?)://unix:(.*?)(?::(/.*))?$")
_BARE = re.compile(r"unix:(.*)$")


def is_socket(url: str) -> bool:
    """Return true if the URL leads to a Unix socket."""
    return _WEB.match(url) is not None or _BARE.match(url) is not None


def split(url: str) -> tuple[str, str]:
    """Return the path of the socket, which begins with {folder}, and the URL as if it had a port.

    Raises click.UsageError for a socket that two servers would share.
    """
    if (web := _WEB.match(url)) is not None:
        socket, plain = web[2], f"{web[1]}://127.0.0.1:{{port}}{web[3] or '/'}"
    else:
        socket, plain = url.removeprefix("unix:"), "tcp://127.0.0.1:{port}"
    if re.fullmatch(r"\{folder\}/[^\s:]+", socket) is None:
        raise click.UsageError(
            f"{url}: found the socket {socket!r}, expected {{folder}}/NAME: each server has a "
            "folder of its own"
        )
    return socket, plain
