"""Requests to a user's own servers: read from a file, and completed by what all have in common."""

import hashlib
import json
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tare.lab.errors import TareError
from tare.model.servers import Asked, Body, Headers, Mixed, Servers

_MOST = 1000
"""Each is asked before every duel."""
_SHOWN = 60
_EXPECTED = {
    "url": "expected a path that begins with /",
    "method": "expected a method without blanks, such as POST",
    "headers": 'expected a table of texts or lists of texts, such as {"Accept": "text/html"}',
    "body": 'expected a text, {"base64": TEXT}, {"file": NAME} or {"size": BYTES}',
    "weight": "expected a number above 0",
}
"""Field of a request → what it may be."""


def read(file: Path) -> list[Mixed]:
    """Read the requests of a file as `tare load --requests` takes it (docs/FORMAT.md, `mix_file`).

    Raises TareError that names the line which is no request.
    """
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TareError(f"{file}: cannot be read: {error}") from error
    found = []
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line and not line.startswith("#"):
            try:
                found.append(_request(line, file.parent))
            except ValueError as error:
                raise TareError(f"{file}:{number}: {_told(error)}") from error
    if not 1 <= len(found) <= _MOST:
        raise TareError(f"{file}: found {len(found)} requests, expected 1 to {_MOST} for a duel")
    return found


def asked(servers: Servers) -> list[Asked]:
    """Return all requests, each with what it does not say itself."""
    common = servers.request
    if not servers.mix:
        one = Asked(
            path=common.path, method=common.method, headers=common.headers, body=common.body
        )
        return [one]
    return [
        Asked(
            path=each.url,
            method=each.method or common.method,
            headers=_over(common.headers, each.headers),
            body=common.body if each.body is None else each.body,
        )
        for each in servers.mix
    ]


def summary(servers: Servers) -> str:
    """Return what the servers are asked in a few words, with a digest of what these leave out: runs
    of other requests answer another question. It has no braces, so that it is no template.
    """
    return _summary(servers).replace("{", "%7B").replace("}", "%7D")


def _summary(servers: Servers) -> str:
    each = asked(servers)
    one, log = each[0], servers.replay
    rest = [[own.method, own.path, own.headers, _content(own.body)] for own in each]
    if log is not None:
        file = Path(log.file)
        size = file.stat().st_size if file.is_file() else 0
        return f"log {file.name} ({_digest([size, log.format, log.speed, rest])})"
    if servers.mix:
        weights = [own.weight for own in servers.mix]
        return f"{len(each)} requests ({_digest([weights, servers.in_order, rest])})"
    words = "messages" if servers.request.scheme == "tcp" else f"{one.method} {one.path}"
    match one.body:
        case None if not one.headers:
            return words
        case {"size": int(size)} if not one.headers:
            return f"{words}, {size} bytes"
    return f"{words} ({_digest(rest)})"


def _content(body: Body | None) -> object:
    """Return what a body is made of; of a file what it holds, if it can be read."""
    match body:
        case {"file": str(name)} if Path(name).is_file():
            return hashlib.sha256(Path(name).read_bytes()).hexdigest()
    return body


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:8]


def _request(line: str, folder: Path) -> Mixed:
    if line.startswith("{"):
        found = Mixed.model_validate(json.loads(line, object_pairs_hook=_table))
        match found.body:
            case {"file": str(file)}:
                own = {"file": str((folder / file).resolve())}
                found = found.model_copy(update={"body": own})
        return found
    *method, url = line.split()
    if len(method) > 1:
        raise ValueError(f"found {len(method) + 1} words, expected a path, or a method and a path")
    return Mixed(url=url, method=method[0] if method else None)


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON. Raises ValueError for a field that it has twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"found the field {twice!r} twice, expected it once")
    return found


def _told(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON: {error}"
    if not isinstance(error, ValidationError):
        return str(error)
    problem = error.errors()[0]
    name = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        return f"unknown field {name!r}{_instead(name)}"
    if problem["type"] == "missing":
        return f"it has no {name!r}; {_EXPECTED[name]}"
    found = problem["input"]
    if name in ("body", "headers"):  # their faults name the branch of a union, and no field
        found = "another value" if len(str(found)) > _SHOWN else found
    return f"{'' if name == 'url' else f'{name}: '}found {found!r}, {_EXPECTED[name]}"


def _instead(name: str) -> str:
    if name == "expect":
        return "; remove it: a duel asks each server before it measures, and expects that answer"
    if close := get_close_matches(name, _EXPECTED, n=1):
        return f"; did you mean {close[0]!r}?"
    return f"; remove it, or use one of: {', '.join(_EXPECTED)}"


def _over(common: Headers, own: Headers) -> Headers:
    """Return the common headers with a request's own, which replace those of the same name."""

    def kept() -> Iterator[tuple[str, str | list[str]]]:
        replaced = {name.lower() for name in own}
        return ((name, value) for name, value in common.items() if name.lower() not in replaced)

    return dict(kept()) | own
