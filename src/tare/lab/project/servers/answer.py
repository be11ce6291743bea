"""One answer of a user's own server, and how two answers differ.

The client is the load generator itself, so that what is compared is asked as it will be timed.
"""

import base64
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tare.lab.project.hooks import AskedView, OracleError
from tare.model.servers import Expected

_LINES = 12
_WIDTH, _BEFORE = 120, 30
"""Characters of a line that are shown; of a longer one, those before the first difference."""
_BYTES = 16
"""Of two bodies that are no text: those that are shown from the first difference on."""
_UNLIKE = ("date",)
"""Headers that differ between any two answers."""


@dataclass(frozen=True)
class Answer:
    """An answer as it came, its headers' names in lower case."""

    request: str
    """The method and path that it answers."""
    status: int
    """Of HTTP, or the code of gRPC unless that is 0; 200 where the protocol has none."""
    headers: tuple[tuple[str, str], ...]
    body: bytes
    """The first of its bytes, of gRPC those of all messages without their prefixes."""
    length: int
    sha256: str
    """Of all bytes."""

    def expected(self, again: "Answer") -> Expected:
        """Return what later answers are held against; `again` is another one of the same server."""
        if self.status != again.status or self.sha256 != again.sha256:
            return Expected(status=self.status)
        return Expected(status=self.status, body_sha256=self.sha256, body_length=self.length)


@dataclass(frozen=True)
class Answers:
    """A server's answers to all requests."""

    protocol: str
    """That they came over."""
    each: list[Answer]
    log_rate: float | None
    """The mean rate of the log that has the requests, if one is replayed."""


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
    if old.sha256 != new.sha256:
        sizes = f"bodies of {old.length} and {new.length} bytes"
        yield Difference("body", "\n  ".join([sizes, *_diff(old.body, new.body)]))


def ask(site: AskedView) -> Answers:
    """Send each request once, over one connection as long as the server keeps it.

    Raises TareError, which is an OracleError where a request has no right answer.
    """
    result = site.ask()
    for each in result["answers"]:
        if each["answer"] is None:
            raise OracleError(f"no answer to {each['request']}: {_reasons(result)}")
        _came_back(each["answer"])
    if any(result["total"]["errors"].values()):
        raise OracleError(f"a wrong answer: {_reasons(result)}")
    log = result.get("replay")
    return Answers(
        result["protocol"],
        [_answer(each["request"], each["answer"]) for each in result["answers"]],
        log["entries"] / log["length_s"] if log else None,
    )


def _answer(request: str, kept: Mapping[str, Any]) -> Answer:
    return Answer(
        request,
        kept["status"],
        tuple((name.lower(), value) for name, value in kept["headers"]),
        base64.b64decode(kept["body"]),
        kept["length"],
        kept["sha256"],
    )


def _came_back(kept: Mapping[str, Any]) -> None:
    """Raise OracleError for a message that was to come back and did not."""
    sent, came = (base64.b64decode(kept.get(name, kept["body"])) for name in ("sent", "body"))
    if sent != came:
        lines = "\n  ".join([f"{len(sent)} bytes were sent, others came back", *_hex(sent, came)])
        raise OracleError(f"a message does not come back: {lines}")


def _reasons(result: Mapping[str, Any]) -> str:
    found: Sequence[Mapping[str, Any]] = result["total"]["reasons"]
    return ", ".join(str(each["why"]) for each in found) or "none came in time"


def _table(answer: Answer) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, value in answer.headers:
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _shown(value: str | None) -> str:
    return "none" if value is None else repr(value)


def _diff(old: bytes, new: bytes) -> list[str]:
    """The first lines that differ, or the first bytes where one body is no text."""
    try:
        before, after = old.decode().splitlines(), new.decode().splitlines()
    except UnicodeDecodeError:
        return _hex(old, new)
    # The first two lines name files.
    lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    shown = [line for line in lines if not line.startswith("@@")][:_LINES]
    if not shown and old != new:  # in the ends of lines
        return _hex(old, new)
    first, second = (next((line for line in shown if line[0] == mark), mark) for mark in "-+")
    pairs = zip(first[1:], second[1:], strict=False)
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), 0)
    skipped = max(0, same - _BEFORE) if max(map(len, shown), default=0) > _WIDTH else 0
    return [_cut(line, skipped) for line in shown]


def _cut(line: str, skipped: int) -> str:
    """Return a line's mark and a part of the line, without what a terminal would obey."""
    part = line[1 + skipped : _WIDTH + skipped]
    shown = "".join(each if each.isprintable() else "\ufffd" for each in part.replace("\t", " "))
    return f"{line[0]}{'…' if skipped else ''}{shown}"


def _hex(old: bytes, new: bytes) -> list[str]:
    """The bytes from the first difference on."""
    pairs = enumerate(zip(old, new, strict=False))
    at = next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))
    first, second = (each[at : at + _BYTES].hex(" ") or "nothing" for each in (old, new))
    return [f"from byte {at} on:", f"-{first}", f"+{second}"]
