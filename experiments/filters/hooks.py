"""The exact decisions and counters of every filter."""

import json
import socket
from collections.abc import Mapping

from tare.lab.project.hooks import Answered, HookError, OracleError, SiteView

_LEFT_OUT = "oracle-counts.json"
"""A file in the site's folder: the part of the counts that is the oracle's."""
Target = tuple[bytes, bool | None, int]
"""Method and target as sent, the filter's decision (None: it is not asked), and the status."""
TARGETS: list[tuple[bytes, bytes | int]] = [
    # Method and target as sent; the path that nginx makes of it and shows the filter (decoded,
    # dot segments and double slashes resolved, without query and fragment), or the status with
    # which nginx refuses it before any filter sees it.
    (b"GET /aaaa", b"/aaaa"),
    (b"GET /aaaab", b"/aaaab"),
    (b"GET /aaaa/x?y", b"/aaaa/x"),
    (b"GET /aaaa?%00", b"/aaaa"),
    (b"GET /aaaa#/../b", b"/aaaa"),
    (b"GET /aaa", b"/aaa"),
    (b"GET /aaa?aaaa", b"/aaa"),
    (b"GET /aaa#a", b"/aaa"),
    (b"GET /AAAA", b"/AAAA"),
    (b"GET /", b"/"),
    (b"GET /forbidden", b"/forbidden"),
    # Slashes and dot segments, plain and encoded.
    (b"GET //aaaa", b"/aaaa"),
    (b"GET ///aaaa//b", b"/aaaa/b"),
    (b"GET /%2faaaa", b"/aaaa"),
    (b"GET /%2Faaaa%2f", b"/aaaa/"),
    (b"GET /x/../aaaa", b"/aaaa"),
    (b"GET /./aaaa", b"/aaaa"),
    (b"GET /.aaaa", b"/.aaaa"),
    (b"GET /aaaa/..", b"/"),
    (b"GET /aaaa/../b", b"/b"),
    (b"GET /aaaa/%2e%2e/b", b"/b"),
    (b"GET /aaaa%2e%2e", b"/aaaa.."),
    (b"GET /aaaa%2f%2E%2e%2fb", b"/b"),
    (b"GET /../aaaa", 400),
    (b"GET /aaaa/../../aaaa", 400),
    # Escapes are decoded once, and must be whole.
    (b"GET /%61aaa", b"/aaaa"),
    (b"GET /aaa%61%62", b"/aaaab"),
    (b"GET /%2561aaa", b"/%61aaa"),
    (b"GET /%3faaaa", b"/?aaaa"),
    (b"GET /aaaa%0d%0a%7f", b"/aaaa\r\n\x7f"),
    (b"GET /aaaa%", 400),
    (b"GET /aaaa%2", 400),
    (b"GET /aaaa%zz", 400),
    (b"GET /%00aaaa", 400),
    (b"GET /aaaa%00", 400),
    (b"GET /aaaa%00/b", 400),
    (b"GET /aaaa\x00", 400),
    # Bytes that are no text.
    (b"GET /aaaa\xff\xfe", b"/aaaa\xff\xfe"),
    (b"GET /\xffaaaa", b"/\xffaaaa"),
    (b"GET /aaaa%ff", b"/aaaa\xff"),
    (b"GET /%ffaaaa", b"/\xffaaaa"),
    ("GET /aaaa/ü".encode(), "/aaaa/ü".encode()),
    (b"GET /aaa\xe1", b"/aaa\xe1"),
    (b"GET /aaaa\t", 400),
    (b"GET /aaaa\x7f", 400),
    (b"GET /aa aa", 400),
    # 8 KB.
    (b"GET /aaaa" + b"x" * 8187, b"/aaaa" + b"x" * 8187),
    (b"GET /aaab" + b"x" * 8187, b"/aaab" + b"x" * 8187),
    (b"GET /" + b"%61" * 2730, b"/" + b"a" * 2730),
    # Other forms of a target.
    (b"GET http://example/aaaa", b"/aaaa"),
    (b"GET HTTP://example:1/b/../aaaa?x", b"/aaaa"),
    (b"GET http://example/b", b"/b"),
    (b"GET http://example", b"/"),
    (b"GET http://example?/aaaa", b"/"),
    (b"GET aaaa", 400),
    (b"GET *", 400),
    (b"OPTIONS *", 400),
    (b"CONNECT example:443", 400),
    (b"CONNECT 127.0.0.1:443", 400),
    (b"CONNECT /aaaa", 405),
    (b"get /aaaa", 400),
]


class Wire:
    """A connection that sends given bytes unchanged, and reconnects when closed."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._socket: socket.socket | None = None
        self._buffer = b""

    def request(self, line: bytes) -> tuple[int, bytes]:
        """Send `METHOD TARGET`. Return the status and body of the answer."""
        request = line + b" HTTP/1.1\r\nHost: example\r\n\r\n"
        while True:
            reused = self._socket is not None
            if self._socket is None:
                self._socket = socket.create_connection(self._address, timeout=5)
            try:
                self._socket.sendall(request)
                return self._answer()
            except ConnectionError:
                # nginx closes idle connections when it reloads; it has not processed the request.
                self.close()
                if not reused:
                    raise

    def close(self) -> None:
        """Close the connection; the next request makes a new one."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._buffer = None, b""

    def _answer(self) -> tuple[int, bytes]:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            self._receive()
        head, self._buffer = self._buffer[:end].lower(), self._buffer[end + 4 :]
        status, *lines = head.split(b"\r\n")
        fields = dict(field.split(b": ", 1) for field in lines)
        length = int(fields.get(b"content-length", b"0"))
        while len(self._buffer) < length:
            self._receive()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        if fields.get(b"connection") == b"close":
            self.close()
        return int(status.split()[1]), body

    def _receive(self) -> None:
        assert self._socket is not None
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("closed without an answer")
        self._buffer += received


def oracle(site: SiteView) -> None:
    """Every target gets the answer it should, and the counters move by just what was sent."""
    rule = f"with prefix {site.parameters['prefix'][:60]!r}"
    targets = _by_prefix(site)
    if "decisions" in site.part:
        rule, targets = "by your decisions", _by_decisions(site)
    sent = {"accepted": 0, "rejected": 0}
    before = counters(site)
    wire = Wire(site.address["http"], site.port["http"])
    for line, accepted, expected in targets:
        if accepted is not None:
            sent["accepted" if accepted else "rejected"] += 1
        status, _ = wire.request(line)
        if status != expected:
            raise OracleError(f"{line[:60]!r} {rule}: found status {status}, expected {expected}")
    wire.close()
    after = counters(site)
    _compare(before, after, sent)
    left_out = {name: after[name] - before[name] + _left_out(site).get(name, 0) for name in after}
    (site.folder / _LEFT_OUT).write_text(json.dumps(left_out))


def _by_prefix(site: SiteView) -> list[Target]:
    """Return the targets as the prefix decides them, which is the rule of all variants."""
    prefix = site.parameters["prefix"].encode()
    found: list[Target] = []
    for line, outcome in TARGETS:
        if isinstance(outcome, int):
            found.append((line, None, outcome))
            continue
        accepted = outcome.startswith(prefix)
        found.append((line, accepted, 200 if accepted or not site.properties["filters"] else 403))
    return found


def _by_decisions(site: SiteView) -> list[Target]:
    """Return the targets of the user's file, and the measured path, which must be accepted.

    Raises HookError for a line that says something else, and for a file by which a filter that
    decides nothing would be right.
    """
    file = site.part["decisions"]
    found: list[Target] = [(f"GET {site.parameters['url_path']}".encode(), True, 200)]
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        status, _, path = line.strip().partition(b" ")
        if status in (b"200", b"403") and path.startswith(b"/"):
            found.append((b"GET " + path, status == b"200", int(status)))
        elif line.strip():
            raise HookError(
                f"decisions, line {number}: found {line!r}, expected '200 /PATH' or '403 /PATH'"
            )
    if {status for _, _, status in found[1:]} != {200, 403}:
        raise HookError("decisions: expected paths with 200 and paths with 403, one a line")
    return found


def counters(site: SiteView) -> dict[str, int]:
    """Return the filter's accepted and rejected requests, or else nginx's requests, without those
    that the oracle sent."""
    found, left_out = _counted(site), _left_out(site)
    if any(found[name] < count for name, count in left_out.items()):
        # The counts began anew, with other memory.
        (site.folder / _LEFT_OUT).unlink()
        return found
    return {name: count - left_out.get(name, 0) for name, count in found.items()}


def _left_out(site: SiteView) -> dict[str, int]:
    """Return how much of the counts the oracle's requests are."""
    file = site.folder / _LEFT_OUT
    return dict(json.loads(file.read_text())) if file.is_file() else {}


def _counted(site: SiteView) -> dict[str, int]:
    own = site.properties["counters"]
    wire = Wire(site.address["status"], site.port["status"])
    status, body = wire.request(b"GET /filter" if own else b"GET /requests")
    wire.close()
    if status != 200:
        raise OracleError(f"the counters' port answers {status}, expected 200")
    if own:
        found = json.loads(body)
        return {name: int(found[name]) for name in ("accepted", "rejected")}
    return {"requests": int(body.split()[9])}


def audit(
    site: SiteView, before: Mapping[str, int], after: Mapping[str, int], answered: Answered
) -> None:
    """The counters moved by just what the instrument was answered, warm-up included: in as many
    calls for each request as it asked for, or without any request."""
    if site.study == "library":
        _audit_harness(site, before, after, answered)
        return
    sent = {"accepted": 0, "rejected": 0}
    for window in answered.windows:
        calls = window.own.get("dose", site.parameters.get("dose", 1))
        statuses = window.result.total.statuses
        sent["accepted"] += calls * statuses.get("200", 0)
        sent["rejected"] += calls * statuses.get("403", 0)
    _compare(before, after, sent)


def _audit_harness(
    site: SiteView, before: Mapping[str, int], after: Mapping[str, int], answered: Answered
) -> None:
    """It compares counters by itself; those of a controller it shares with nginx."""
    for kind in ("answer", "counter"):
        if count := answered.result.errors[kind]:
            raise OracleError(f"the harness found {count} errors of kind {kind}")
    if site.properties["controller"]:
        _compare(before, after, answered.total.counts)


def _compare(before: Mapping[str, int], after: Mapping[str, int], sent: Mapping[str, int]) -> None:
    for name in sent.keys() & after.keys():
        if after[name] - before[name] != sent[name]:
            raise OracleError(
                f"the filter counted {after[name] - before[name]} {name}, expected {sent[name]}"
            )
