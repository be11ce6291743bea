"""The known server: right answers to good, bad and hostile requests, and costs as told."""

import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tare.lab.project.hooks import OracleError
from tare.lab.trial.bench import Bench
from tare.lab.trial.site import Site
from tare.model.trial import Trial

pytestmark = [pytest.mark.contract, pytest.mark.alone]
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
BAD = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def talk(site: Site, *pieces: bytes, ends: bool = False) -> bytes:
    """Send the pieces one by one; return what came until the server closed, or fell silent."""
    with socket.create_connection((site.host, site.port["http"]), timeout=5) as stream:
        for piece in pieces:
            stream.sendall(piece)
            time.sleep(0.02)
        if not ends:
            stream.shutdown(socket.SHUT_WR)
        found = b""
        while part := stream.recv(65536):
            found += part
        return found


def test_requests_are_answered_in_whatever_pieces_they_come(site: Callable[..., Site]) -> None:
    here = site()
    here.hooks.oracle(here)
    for pieces in ([GET], [GET[:7], GET[7:]], [bytes([byte]) for byte in GET]):
        assert talk(here, *pieces) == HELLO
    assert talk(here, GET * 500) == HELLO * 500
    assert talk(here, b"") == b""


@pytest.mark.parametrize(
    "request_",
    [
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"\x00\xff\r\n\r\n",
        b"GET /" + b"a" * 9_000,
    ],
)
def test_a_bad_request_is_refused_and_ends_the_connection(
    site: Callable[..., Site], request_: bytes
) -> None:
    here = site()
    assert talk(here, request_, ends=True) == BAD
    assert talk(here, GET) == HELLO, "others are served on"


def test_a_client_that_does_not_read_stops_nobody_else(site: Callable[..., Site]) -> None:
    here = site()
    with socket.create_connection((here.host, here.port["http"]), timeout=5) as greedy:
        greedy.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                greedy.send(GET * 1000)
        assert talk(here, GET) == HELLO


def test_the_share_is_burnt_and_accounted(site: Callable[..., Site]) -> None:
    here = site(cpu_pct=20.0)
    for _ in range(20):
        assert talk(here, GET * 200) == HELLO * 200
    probed = {name: read.value for name, read in here.hooks.probe(here).items()}
    share = probed["burnt_ns"] / probed["own_ns"]
    assert 0.18 < share < 0.22, probed
    assert here.hooks.counters(here) == {"requests": 4000}


def test_errors_stalls_and_memory_are_as_told(site: Callable[..., Site]) -> None:
    wrong = talk(site(error_every=4), GET * 8)
    assert wrong.count(b"HTTP/1.1 500 ") == 2 and wrong.count(HELLO) == 6
    begun = time.monotonic()
    stalling = site(stall_ms=700)
    while time.monotonic() < begun + 1.5:
        asked = time.monotonic()
        assert talk(stalling, GET) == HELLO
        if time.monotonic() - asked > 0.6:
            break
    else:
        pytest.fail("it never slept")
    big = site(memory_mb=50)
    status = Path(f"/proc/{big.processes['sut'].pid}/status").read_text()
    (kb,) = (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    assert kb > 48_000


def test_a_server_that_errs_fails_its_oracle(site: Callable[..., Site]) -> None:
    here = site(error_every=1)
    with pytest.raises(OracleError, match="GET /: found \\(500, b''\\)"):
        here.hooks.oracle(here)


def test_a_duel_knows_the_truth(duel: Callable[..., tuple[Trial, Trial]]) -> None:
    plain, more = duel(cpu_pct=20.0)
    for side in (plain, more):
        # Not of the neighbour, which would decide which rounds are ordinary.
        assert set(side.instrument["rounds"]["cpu_us"]) <= {"sut"}
    for each in (plain, more):
        assert each.status in ("valid", "invalid"), each.reason
        assert each.outcomes["cpu_us_per_request"]
    assert plain.outcomes["burnt_pct"] == 0
    assert more.outcomes["burnt_pct"] == pytest.approx(20.0, abs=1.5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "127.0.0.1:1", "--cpu=-1"], "expected a number from 0 to 10000"),
        (["--listen", "127.0.0.1:1", "--drift-period", "0"], "expected a number from 0.001"),
        (["--listen", "nowhere"], "invalid"),
        (["--listen", "192.0.2.1:80"], "cannot listen on 192.0.2.1:80"),
        ([], "--listen"),
    ],
)
def test_usage_is_explained(bench: Bench, arguments: list[Any], words: str) -> None:
    program = bench.built["plain"].components["known-server"] / "bin/known-server"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=10)
    assert done.returncode != 0 and words in done.stderr, done.stderr
