"""Input that is no HTTP: nginx's workers live on, and the filter still decides and counts."""

import random
import socket

import pytest
from harness import variants
from test_workers import all_workers, workers

pytestmark = pytest.mark.contract
GARBAGE = [
    b"",
    b"\r\n\r\n",
    b"\x00" * 4096,
    b"\xff\xfe\xfd\r\n\r\n",
    b"GET",
    b"GET /aaaa",
    b"GET /aaaa\r\n",
    b"GET /aaaa HTTP/1.1\r\nHost: a\r\n",
    b"GET /aaaa HTTP/1.1\r\n\r\n",
    b"GET /aaaa HTTP/9.9\r\nHost: a\r\n\r\n",
    b"GET /aaaa HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"GET /aaaa HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf",
    b"GET /aaaa HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    b"GET /aaaa HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    b"GET /aaaa" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /aaaa HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /aaaa HTTP/1.1\r\nHost: a\r\n\r\n" * 50,
]


def throw(site, content: bytes) -> None:
    """Send and hang up without reading all, as a broken client does."""
    with socket.create_connection((site.host, site.port["http"]), timeout=5) as connection:
        connection.settimeout(0.05)
        try:
            connection.sendall(content)
            connection.recv(64)
        except OSError:
            pass  # nginx may well close in the middle


@pytest.mark.parametrize("variant", variants)
def test_workers_survive(site, hooks, variant):
    started = site(variant).start()
    before = all_workers(started)
    generator = random.Random(1)
    for content in GARBAGE:
        throw(started, content)
        throw(started, content[: generator.randrange(len(content) + 1)])
    for _ in range(50):
        throw(started, b"GET " + generator.randbytes(generator.randrange(2000)) + b"\r\n\r\n")
    assert workers(started) == before
    assert "signal" not in started.log("sut")
    hooks.oracle(started)
