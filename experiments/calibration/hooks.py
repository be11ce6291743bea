"""The exact answers of the servers, and their own account of their CPU time."""

import http.client
import json
from collections.abc import Mapping
from typing import Any

from tare.lab.project.hooks import Answered, OracleError, SiteView
from tare.probes.reading import Counter, Reading

_PATIENCE_S = 10.0


def oracle(site: SiteView) -> None:
    """Every request gets the one right answer."""
    for target, wanted in (
        ("/", (200, b"hello\n")),
        ("/?a", (200, b"hello\n")),
        ("/a", (404, b"")),
    ):
        if (found := _ask(site, target)) != wanted:
            raise OracleError(f"GET {target}: found {found}, expected {wanted}")


def counters(site: SiteView) -> dict[str, int]:
    """Answers so far."""
    return {"requests": int(_account(site)["requests"])}


def probe(site: SiteView) -> dict[str, Reading]:
    """Answers, and CPU time in nanoseconds: what the server needed itself, and what it burnt."""
    found = _account(site)
    return {name: Counter(float(found[name])) for name in ("requests", "own_ns", "burnt_ns")}


def audit(
    site: SiteView, before: Mapping[str, int], after: Mapping[str, int], answered: Answered
) -> None:
    """The server gave as many answers as the instrument got, warm-up included."""
    load = answered.result.load
    if answered.total.failed or load is None or load.unfinished:
        return
    found, wanted = after["requests"] - before["requests"], answered.total.requests
    if found != wanted:
        raise OracleError(f"the server answered {found} requests, expected {wanted}")


def _account(site: SiteView) -> dict[str, Any]:
    status, body = _ask(site, "/account")
    if status != 200:
        raise OracleError(f"GET /account: found status {status}, expected 200")
    return dict(json.loads(body))


def _ask(site: SiteView, target: str) -> tuple[int, bytes]:
    place = site.address["http"], site.port["http"]
    connection = http.client.HTTPConnection(*place, timeout=_PATIENCE_S)
    try:
        connection.request("GET", target)
        found = connection.getresponse()
        return found.status, found.read()
    except (OSError, http.client.HTTPException) as error:
        raise OracleError(f"GET {target}: {error!r}") from error
    finally:
        connection.close()
