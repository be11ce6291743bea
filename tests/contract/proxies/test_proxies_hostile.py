"""Bad and hostile input: each proxy refuses it or passes it on as one request, and lives on."""

import contextlib
import json
import random
import socket
import time

import pytest
from proxies import fronts, variants
from wire import Wire, get

pytestmark = pytest.mark.contract
GOOD = b"GET /body.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
POST = b"POST /body.json HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BAD = {
    "no request": b"\x00\xff\xfe garbage\r\n\r\n",
    "a method that is no token": b"GE(T /body.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a version that there is not": b"GET /body.json HTTP/one\r\nHost: 127.0.0.1\r\n\r\n",
    "a field of 200 KB": b"GET /body.json HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
    + b"x" * 200_000
    + b"\r\n\r\n",
    "a target of 200 KB": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "1,500 KB of fields": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    + b"X-Y: zzz\r\n" * 150_000
    + b"\r\n",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a NUL in a field": b"GET /body.json HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n",
    "TLS to a port in clear": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    + b"\x00" * 512
    + b"\r\n\r\n",
}
SMUGGLED = b"GET /body.json?smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
WHOLE = POST + b"Content-Length: %d\r\n" % (5 + len(SMUGGLED))
PART = POST + b"Content-Length: 4\r\n"
CHUNK = b"%x\r\n" % len(SMUGGLED) + SMUGGLED + b"\r\n0\r\n\r\n"
DESYNC = {
    "CL.TE": WHOLE + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "CL.TE, hidden by a space": WHOLE + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "CL.TE, in two fields": WHOLE
    + b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + SMUGGLED,
    "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "TE.CL": PART + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK,
}


@pytest.fixture(scope="module", params=variants)
def site(request, make):
    """One of each variant for all of these tests: what it survives is part of them. It is set up
    for a hundred connections: apache has a thread for each head that is on its way.
    """
    started = make(request.param, connections="100")
    started.start()
    started.run_oracle()
    return started


@pytest.fixture(autouse=True)
def lives_on(site):
    """After each test it is there, and answers others as before."""
    yield
    site.ensure_alive()
    status, body = get(site.port["front"])
    assert (status, len(body)) == (200, site.parameters["bytes"])


@pytest.mark.parametrize("what", BAD)
def test_bad_requests_are_refused(site, what):
    with Wire(site.port["front"]) as wire:
        found = wire.send(BAD[what]).answer()
    # Closing without a word is a refusal, too.
    assert found is None or 400 <= found[0] < 600


def test_a_truncated_request_is_no_request(site):
    before = site.hooks.counters(site)["requests"]
    for end in range(1, len(GOOD) - 1, 7):
        with socket.create_connection((site.host, site.port["front"])) as broken:
            broken.sendall(GOOD[:end])
    time.sleep(0.1)
    after = site.hooks.counters(site)["requests"]
    # The backend itself counts what it began to read; the second question counts in any case.
    assert site.variant not in fronts or after == before + 1


def test_a_client_that_hangs_up_in_its_body_gets_nothing_through(site):
    head = b"POST /probe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_connection((site.host, site.port["front"])) as broken:
        broken.sendall(head + b"half")
    time.sleep(0.1)
    told = [json.loads(line) for line in probes(site)]
    assert not any("half" in each["body"] and each["status"] == "200" for each in told)


def test_partial_heads_hold_up_nobody(site):
    slow = [socket.create_connection((site.host, site.port["front"])) for _ in range(200)]
    for each in slow:
        each.sendall(b"GET /body.json HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
    for _ in range(3):
        for each in slow:
            each.sendall(b"x")
        assert get(site.port["front"])[0] == 200
    for each in slow:
        each.close()


def test_pipelined_requests_are_answered_in_order(site):
    with Wire(site.port["front"]) as wire:
        wire.send(GOOD + b"GET /missing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + GOOD)
        assert [wire.answer()[0] for _ in range(3)] == [200, 404, 200]


@pytest.mark.parametrize("what", DESYNC)
def test_two_lengths_of_one_body_smuggle_nothing(site, what):
    """What the backend takes for a request, the proxy must have taken for one as well: an answer
    more than the client is given would be the next client's.
    """
    before = site.hooks.counters(site)["requests"]
    answers = 0
    with Wire(site.port["front"], timeout_s=0.5) as wire, contextlib.suppress(TimeoutError):
        wire.send(DESYNC[what])
        while wire.answer() is not None:
            answers += 1
    seen = site.hooks.counters(site)["requests"] - before - 1
    assert answers >= 1 and seen <= answers
    for _ in range(20):
        status, body = get(site.port["front"])
        assert (status, len(body)) == (200, site.parameters["bytes"])


def test_a_header_cannot_pretend_to_be_the_proxys(site):
    if site.variant not in fronts:
        return
    with Wire(site.port["front"]) as wire:
        wire.send(
            b"GET /probe HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n"
            b"X-Seen-Protocol: HTTP/3.0\r\n\r\n"
        )
        assert wire.answer() == (200, b"ok")
    told = json.loads(awaited(site)[-1])
    assert told["proto"] == "http"
    assert not site.properties["names_protocol"] or told["seen"] == "HTTP/1.1"


def test_noise(site):
    generator = random.Random(1)
    for _ in range(60):
        with socket.create_connection((site.host, site.port["front"])) as noise:
            noise.sendall(generator.randbytes(generator.randrange(1, 3000)))


def probes(site) -> list[str]:
    log = site.folder / "backend" / "probe.log"
    return log.read_text().splitlines() if log.exists() else []


def awaited(site) -> list[str]:
    time.sleep(0.1)
    return probes(site)
