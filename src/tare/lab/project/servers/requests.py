"""Requests to a user's own servers: read from a file, and completed by what all have in common."""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from tare.lab.errors import TareError
from tare.model.servers import Asked, Headers, Mixed, Servers

_MOST = 1000
"""Each is asked before every duel."""


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


def _request(line: str, folder: Path) -> Mixed:
    if line.startswith("{"):
        found = Mixed.model_validate(json.loads(line))
        match found.body:
            case {"file": str(file)}:
                own = {"file": str((folder / file).resolve())}
                found = found.model_copy(update={"body": own})
        return found
    *method, url = line.split()
    if len(method) > 1:
        raise ValueError(f"found {len(method) + 1} words, expected a path, or a method and a path")
    return Mixed(url=url, method=method[0] if method else None)


def _told(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON: {error}"
    if not isinstance(error, ValidationError):
        return str(error)
    problem = error.errors()[0]
    where = ".".join(map(str, problem["loc"]))
    if where == "url" and problem["type"] == "string_pattern_mismatch":
        return f"found {problem['input']!r}, expected a path that begins with /"
    return f"{where}: found {problem['input']!r}; {problem['msg']}"


def _over(common: Headers, own: Headers) -> Headers:
    """Return the common headers with a request's own, which replace those of the same name."""

    def kept() -> Iterator[tuple[str, str | list[str]]]:
        replaced = {name.lower() for name in own}
        return ((name, value) for name, value in common.items() if name.lower() not in replaced)

    return dict(kept()) | own
