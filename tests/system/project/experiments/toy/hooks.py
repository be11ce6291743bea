"""What the toy must answer, and how its counter is read."""

import socket
from collections.abc import Mapping

from tare.lab.errors import Unavailable
from tare.lab.project.hooks import Answered, OracleError, SiteView
from tare.probes.reading import Counter, Reading


def oracle(site: SiteView) -> None:
    """It answers `ok`, where it can be had."""
    if site.properties.get("mode") == "not-here":
        raise Unavailable("it works on Tuesdays")
    if (found := _ask(site, b"/")) != b"ok\n":
        raise OracleError(f"found {found!r}, expected b'ok\\n'")


def counters(site: SiteView) -> dict[str, int]:
    """What it has answered."""
    return {"requests": int(_ask(site, b"/count"))}


def probe(site: SiteView) -> dict[str, Reading]:
    """The same, by another name."""
    return {"answers": Counter(float(_ask(site, b"/count")))}


def audit(
    site: SiteView, before: Mapping[str, int], after: Mapping[str, int], answered: Answered
) -> None:
    """It counted what the instrument was answered."""
    counted, told = after["requests"] - before["requests"], answered.total.requests
    if counted != told:
        raise OracleError(f"the server counted {counted}, the instrument {told}")


def _ask(site: SiteView, path: bytes) -> bytes:
    with socket.create_connection(
        (site.address["http"], site.port["http"]), timeout=2
    ) as connection:
        connection.sendall(b"GET %s HTTP/1.1\r\n\r\n" % path)
        return connection.recv(4096).partition(b"\r\n\r\n")[2]
