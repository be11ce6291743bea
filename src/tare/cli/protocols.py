"""The protocols of a user's own servers: their URLs, and the options that make no sense with them.

Names and schemes are those of `tare load`.
"""

from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

import click

_WEB = ("http", "https")
_SCHEMES = {
    "h1": _WEB,
    "h2": _WEB,
    "h3": ("https",),
    "auto": _WEB,
    "grpc": _WEB,
    "ws": ("ws", "wss", *_WEB),
    "echo": ("tcp",),
    "proto": ("tcp",),
}
"""Protocol → the schemes of its URLs, the usual one first."""
PROTOCOLS = tuple(_SCHEMES)
SCHEMES = (*_WEB, "ws", "wss", "tcp")
_USUAL = {"ws": "ws", "wss": "ws", "tcp": "echo"}
"""Scheme → its protocol; h1 for others."""
_MESSAGES = "sends messages of --size that come back"
_BARE = "is no HTTP"
_LACKING = {
    "grpc": {"--method": "always calls with POST", "--replay": "has no access log"},
    "ws": dict.fromkeys(("--method", "--body", "--body-file", "--requests", "--replay"), _MESSAGES),
    "echo": dict.fromkeys(("--body", "--body-file"), _MESSAGES)
    | dict.fromkeys(("--get", "--method", "--header", "--requests", "--replay"), _BARE),
    "proto": dict.fromkeys(("--get", "--method", "--header", "--requests", "--replay"), _BARE),
}
"""Protocol → the options that it does not have, each with the reason."""


def spoken(named: str | None, url: str | None) -> tuple[str, SplitResult]:
    """Return the protocol, and the URL with its scheme; each may follow from the other.

    Raises click.UsageError for a URL of another scheme than the protocol has.
    """
    if url is not None and not url.startswith(tuple(f"{scheme}://" for scheme in SCHEMES)):
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise click.BadParameter(f"{url!r}: expected {known}", param_hint="--url")
    scheme = url.partition("://")[0] if url is not None else None
    protocol = named or _USUAL.get(scheme or "", "h1")
    allowed = _SCHEMES[protocol]
    if scheme is not None and scheme not in allowed:
        expected = " or ".join(f"{each}://" for each in allowed)
        raise click.UsageError(f"{url}: found {scheme}:// for {protocol}, expected {expected}")
    target = parsed(url or f"{allowed[0]}://127.0.0.1:{{port}}/")
    if target.scheme == "tcp" and (target.path.strip("/") or target.query):
        raise click.UsageError(f"{url}: found a path, expected tcp://HOST:PORT")
    return protocol, target


def parsed(url: str) -> SplitResult:
    """Return a URL's parts. Raises click.UsageError for one that has none."""
    try:
        return urlsplit(url)
    except ValueError as error:
        raise click.UsageError(f"{url}: {error}") from error


def refuse_options(protocol: str, given: Collection[str]) -> None:
    """Raise click.UsageError for a given option that the protocol does not have."""
    for option, why in _LACKING.get(protocol, {}).items():
        if option in given:
            raise click.UsageError(f"{option}: {protocol} {why}; leave it out")
