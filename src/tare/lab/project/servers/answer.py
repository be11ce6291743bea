"""One answer of a user's own server, and how two answers differ."""

import difflib
import hashlib
import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tare.lab.project.hooks import OracleError, SiteView
from tare.lab.project.servers.requests import content
from tare.model.servers import Asked, Expected

_PATIENCE_S = 10.0
_LINES = 12
_UNLIKE = ("date",)
"""Headers that differ between any two answers."""


@dataclass(frozen=True)
class Answer:
    """An answer as it came, its headers' names in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def sha256(self) -> str:
        """The digest of the body."""
        return hashlib.sha256(self.body).hexdigest()

    def expected(self, again: "Answer") -> Expected:
        """Return what later answers are held against; `again` is another one of the same server."""
        if self.status != again.status or self.body != again.body:
            return Expected(status=self.status)
        return Expected(status=self.status, body_sha256=self.sha256, body_length=len(self.body))


@dataclass(frozen=True)
class Difference:
    """A difference between two answers."""

    what: str
    """`status`, `body`, or `header:NAME`: the word that allows it."""
    text: str


def differences(old: Answer, new: Answer) -> Iterator[Difference]:
    """Compare two servers' answers: status, headers but for the date, body."""
    if old.status != new.status:
        yield Difference("status", f"status {old.status} and {new.status}")
    headers = [_table(answer) for answer in (old, new)]
    for name in sorted({*headers[0], *headers[1]} - {*_UNLIKE}):
        first, second = (table.get(name) for table in headers)
        if first != second:
            yield Difference(
                f"header:{name}", f"header {name}: {_shown(first)} and {_shown(second)}"
            )
    if old.body != new.body:
        yield Difference("body", "\n  ".join(_diff(old.body, new.body)))


def ask(site: SiteView) -> list[Answer]:
    """Send each request once, over a connection of its own. Raises OracleError."""
    return [_answer(site, Asked.model_validate(each)) for each in requested(site)]


def requested(site: SiteView) -> list[dict[str, Any]]:
    """Return the requests to a site, as its properties have them."""
    return list(json.loads(site.properties["requests"]))


def _answer(site: SiteView, asked: Asked) -> Answer:
    own = site.properties
    host, port = own["host"] or site.host, own["port"] or site.port["http"]
    if own["scheme"] == "https":
        # The server is the user's own, on this machine.
        context = ssl._create_unverified_context()
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=_PATIENCE_S, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE_S)
    try:
        body = content(asked.body)
        connection.request(asked.method, asked.path, body=body, headers=asked.headers)
        found = connection.getresponse()
        named = tuple((key.lower(), value) for key, value in found.getheaders())
        return Answer(found.status, named, found.read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise OracleError(f"no answer to {asked.method} {asked.path}: {error!r}") from error
    finally:
        connection.close()


def _table(answer: Answer) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, value in answer.headers:
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _shown(value: str | None) -> str:
    return "none" if value is None else repr(value)


def _diff(old: bytes, new: bytes) -> list[str]:
    """The first lines that differ, where both bodies are text; their sizes in any case."""
    found = [f"bodies of {len(old)} and {len(new)} bytes"]
    try:
        before, after = old.decode().splitlines(), new.decode().splitlines()
    except UnicodeDecodeError:
        return found
    # The first two lines name files.
    lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    shown = [line for line in lines if not line.startswith("@@")]
    return found + [line[:120] for line in shown[:_LINES]]
