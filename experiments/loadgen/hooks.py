"""The server must answer as it is said to, and must have been asked as the scenario says; the
requests of users, and the same without users.
"""

import http.client
import socket
import ssl
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tare.lab.project.hooks import Answered, OracleError, SiteView

TOKEN = "0123456789abcdef"
SESSION = f'{{"user": 42, "token": "{TOKEN}", "valid_s": 3600}}'.encode()
BODIES = {"2b.txt": b"ok", "20k.txt": b"x" * 20460, "session.json": SESSION}
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
COOKIE = {"Cookie": f"sid={TOKEN}"}
CIPHER = ("TLS_AES_128_GCM_SHA256", "TLSv1.3", 128)
PROTOCOLS = {"h1": "HTTP/1.1", "h2": "HTTP/2.0"}
_CONNECTIONS_MAX = 5
"""Connections a generator may open for each that it was told to keep busy: Go's HTTP client dials
more than it keeps, while one that keeps none alive opens one for each request."""


def workload(site: SiteView, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The requests of the study of sequences: three of four have a token that the first one's
    answer has, which users take from there, and which is written down for all others.
    """
    if site.study != "sequences":
        return {}
    with_cookie = parameters["requests"] == "sequence-cookies"
    users = site.properties["users"] and parameters["requests"] != "plain"
    cookie = COOKIE if with_cookie and not users else {}
    authorized = {"Authorization": "Bearer ${token}"} if users else AUTHORIZED
    first = {
        "url": "/session.json",
        "headers": cookie,
        "take": {"token": "json:/token"} if users else {},
        "expect": {"body_length": len(SESSION)},
    }
    later = {
        "url": "/basket" if with_cookie else "/account",
        "headers": authorized | cookie,
        "expect": {"body_length": len(b"ok")},
    }
    return {"mix": [first, later, later, later]}


def oracle(site: SiteView) -> None:
    """All bodies, byte for byte, in all three protocols; and one way only to encrypt them. Who does
    not show what the session is known by is refused.
    """
    plain = socket.create_connection((site.host, site.port["http"]), timeout=5)
    _compare("h1", _http1(site.host, plain))
    for path, headers, expected in (
        ("/account", AUTHORIZED, 200),
        ("/account", COOKIE, 403),
        ("/basket", AUTHORIZED | COOKIE, 200),
        ("/basket", AUTHORIZED, 403),
    ):
        if (found := _status(site, path, headers)) != expected:
            raise OracleError(f"{path} with {list(headers)}: found {found}, expected {expected}")
    with _negotiated(site, "http/1.1") as wire:
        if wire.cipher() != CIPHER:
            raise OracleError(f"TLS: found {wire.cipher()}, expected {CIPHER}")
        _compare("tls", _http1(site.host, wire))
    with _negotiated(site, "h2") as wire:
        _compare("h2", _http2(wire))
    _refused(site, "TLS 1.2", maximum_version=ssl.TLSVersion.TLSv1_2)
    _refused(site, "a group that is not X25519", group="prime256v1")


def counters(site: SiteView) -> dict[str, int]:
    """Return nginx's counters so far, this request included: connections, requests, and requests
    that were not in the scenario's protocol or not answered with 200.
    """
    connection = http.client.HTTPConnection(site.host, site.port["status"], timeout=5)
    connection.request("GET", "/")
    words = connection.getresponse().read().split()
    connection.close()
    return {
        "connections": int(words[7]),
        "requests": int(words[9]),
        "strange": len(_strange(site)),
    }


def audit(
    site: SiteView, before: Mapping[str, int], after: Mapping[str, int], answered: Answered
) -> None:
    """Every request was in the scenario's protocol and got its answer, as many as the generator
    tells of.
    """
    moved = {name: after[name] - before[name] for name in after}
    if moved["strange"]:
        kinds = Counter(_strange(site)[before["strange"] :])
        found = ", ".join(f"{count} of {kind}" for kind, count in kinds.most_common(3))
        expected = PROTOCOLS[site.parameters["protocol"]]
        raise OracleError(f"requests: found {found}, expected all of {expected} 200")
    connections = int(site.parameters["connections"])
    opened = moved["connections"] - 1  # the question after the run
    if not connections <= opened <= _CONNECTIONS_MAX * connections:
        raise OracleError(f"found {opened} connections, expected {connections}")
    served, told = moved["requests"] - 1, answered.total.requests
    in_flight = connections * int(site.parameters["depth"])  # cut off when the generator ended
    if not told <= served <= told + in_flight:
        raise OracleError(
            f"the server had {served} requests, the generator says {told} were answered, "
            f"expected at most {in_flight} more"
        )


def _status(site: SiteView, path: str, headers: Mapping[str, str]) -> int:
    connection = http.client.HTTPConnection(site.host, site.port["http"], timeout=5)
    connection.request("GET", path, headers=dict(headers))
    status = connection.getresponse().status
    connection.close()
    return status


def _strange(site: SiteView) -> list[str]:
    """Protocol and status of each request that was logged: nginx.conf.j2 says which are."""
    return (site.folder / "server" / "strange.log").read_text().splitlines()


def _compare(protocol: str, answers: Mapping[str, tuple[int, bytes]]) -> None:
    for name, expected in BODIES.items():
        status, body = answers[name]
        if status != 200 or body != expected:
            raise OracleError(
                f"{protocol}: /{name}: found status {status} and {len(body)} bytes beginning with "
                f"{body[:20]!r}, expected 200 and {len(expected)} bytes"
            )


def _negotiated(site: SiteView, alpn: str) -> ssl.SSLSocket:
    """A connection that negotiated `alpn`. Raises OracleError when the server would not."""
    try:
        wire = _encrypted(site, alpn)
    except ssl.SSLError as error:
        raise OracleError(f"ALPN: found {error}, expected {alpn}") from error
    if wire.selected_alpn_protocol() != alpn:
        raise OracleError(f"ALPN: found {wire.selected_alpn_protocol()}, expected {alpn}")
    return wire


def _encrypted(
    site: SiteView, alpn: str, group: str | None = None, **settings: Any
) -> ssl.SSLSocket:
    """A connection that offered `alpn` only. Raises SSLError when the server refuses it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([alpn])
    if group is not None:
        context.set_ecdh_curve(group)
    for name, value in settings.items():
        setattr(context, name, value)
    plain = socket.create_connection((site.host, site.port["https"]), timeout=5)
    with plain:  # the encrypted one takes its descriptor
        return context.wrap_socket(plain)


def _refused(site: SiteView, what: str, **settings: Any) -> None:
    try:
        _encrypted(site, "http/1.1", **settings).close()
    except ssl.SSLError:
        return
    raise OracleError(f"TLS: the server accepts {what}, expected a refusal")


def _http1(host: str, wire: socket.socket) -> dict[str, tuple[int, bytes]]:
    """Status and body of each, asked for one after the other on one connection."""
    connection = http.client.HTTPConnection(host)
    connection.sock = wire
    found = {}
    for name in BODIES:
        connection.request("GET", f"/{name}")
        answer = connection.getresponse()
        found[name] = (answer.status, answer.read())
    connection.close()
    return found


def _http2(wire: socket.socket) -> dict[str, tuple[int, bytes]]:
    """The same over HTTP/2 (RFC 9113), each on a stream of its own."""
    wire.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0, b""))
    streams = {1 + 2 * index: name for index, name in enumerate(BODIES)}
    for stream, name in streams.items():
        # HPACK: GET and https are in its static table; path and authority are literals.
        path = f"/{name}".encode()
        head = bytes([0x82, 0x87, 0x04, len(path)]) + path + b"\x01\x01a"
        wire.sendall(_frame(1, 0x5, stream, head))  # END_HEADERS, END_STREAM
    statuses, bodies = dict.fromkeys(streams, 0), dict.fromkeys(streams, b"")
    open_streams = set(streams)
    for kind, flags, stream, payload in _frames(wire):
        if kind == 1:
            statuses[stream] = 200 if payload[0] == 0x88 else 0  # :status 200 is in the table
        elif kind == 0:
            bodies[stream] += payload
        elif kind in (3, 7):
            raise OracleError(f"h2: found a frame of type {kind} that ends it, expected an answer")
        if kind in (0, 1) and flags & 1:
            open_streams.discard(stream)
            if not open_streams:
                break
    return {name: (statuses[stream], bodies[stream]) for stream, name in streams.items()}


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    head = len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
    return head + payload


def _frames(wire: socket.socket) -> Iterator[tuple[int, int, int, bytes]]:
    """Type, flags, stream and payload of each frame that comes."""
    with wire.makefile("rb") as stream:
        while len(head := stream.read(9)) == 9:
            payload = stream.read(int.from_bytes(head[:3], "big"))
            yield head[3], head[4], int.from_bytes(head[5:], "big"), payload
