"""Functions in both languages answer right in every mode, with payloads and callbacks."""

import hashlib
import socket
from base64 import b64decode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sandboxes import SLOW, Refused, Sandbox, loaded, udf, wire

LANGUAGES = ("c", "rust")
# Primes up to n: https://oeis.org/A006880 and its neighbours.
PRIMES = {100_000: 9592, 500_000: 41538, 1_000_000: 78498, 5_000_000: 348513, 10_000_000: 664579}


def checksum(count: int) -> int:
    """What `sort` must answer, made with another algorithm."""
    state, items, total = 1, [], 0
    for _ in range(count):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        items.append(state)
    for item in sorted(items):
        total = (total * 31 + item) % (1 << 64)
    return total


@pytest.mark.parametrize("language", LANGUAGES)
def test_functions_answer_right(mode: str, language: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--workers", "2")
    for name in ("hello", "sieve", "sort", "payload"):
        sandbox.load(name, udf(name, language))
    number, text = wire.number_field, wire.bytes_field
    assert sandbox.call("hello") == {1: b"Hello, world!"}
    assert sandbox.call("sieve", number(1, 100_000)) == {1: PRIMES[100_000]}
    assert sandbox.call("sort", number(1, 10_000)) == {1: checksum(10_000)}
    payloads = text(4, b"x" * 1_000_000) * 3
    assert sandbox.call("payload", payloads)[1] == 3_000_000
    answer = sandbox.call("payload", number(1, 100_000) + number(2, 30) + number(3, 1))
    assert answer == {1: 3_000_000, 2: b"\n" * 100_000}


@pytest.mark.parametrize("language", LANGUAGES)
def test_functions_call_back(mode: str, language: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--workers", "2")
    sandbox.load("payload", udf("payload", language), "--callbacks", "--callbacks-max", "20")
    number = wire.number_field
    request = number(1, 50_000) + number(3, 2)
    # A response that is not wrapped, since nothing was called back, is no response here.
    with pytest.raises(Refused) as refused:
        sandbox.call("payload", request + number(2, 0))
    assert refused.value.kind == "protocol"
    assert sandbox.call("payload", request + number(2, 20)) == {1: 1_000_000}
    with pytest.raises(Refused) as refused:
        sandbox.call("payload", request + number(2, 21))
    assert refused.value.kind == "protocol"


def test_many_callers_get_their_own_answers(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--workers", "4", "--load", f"sieve={udf('sieve')}")
    counts = list(range(1000, 1020 if mode in SLOW else 1100))

    def primes(most: int) -> int:
        return int(sandbox.call("sieve", wire.number_field(1, most))[1])

    with ThreadPoolExecutor(16) as callers:
        found = list(callers.map(primes, counts))
    expected = [
        sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, c + 1)) for c in counts
    ]
    assert found == expected


def test_a_connection_can_ask_ahead(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--workers", "2", "--load", f"udf={udf('hello')}")
    call = wire.bytes_field(2, wire.bytes_field(1, b"udf"))
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(20)
        line.connect(sandbox.socket)
        line.sendall((wire.varint(len(call)) + call) * 10)
        with line.makefile("rb") as stream:
            replies = {bytes(wire.read_frame(stream)) for _ in range(10)}
    assert len(replies) == 1


def test_the_workload_is_what_the_manifest_says() -> None:
    for name, level in loaded.experiment.factors["call"].levels.items():
        function, _, size = name.partition("-")
        count = int(float(size)) if size else 0
        request = wire.number_field(1, count) if size else b""
        call = wire.bytes_field(1, b"udf") + (wire.bytes_field(2, request) if size else b"")
        assert b64decode(level["message"]) == wire.bytes_field(2, call), name
        assert level["udf"] == function
        if function == "hello":
            response = wire.bytes_field(1, b"Hello, world!")
        elif function == "sieve":
            response = wire.number_field(1, PRIMES[count])
        elif count <= 100_000:
            response = wire.number_field(1, checksum(count))
        else:
            continue
        reply = wire.bytes_field(1, wire.bytes_field(1, response))
        assert level["answer"] == hashlib.sha256(reply).hexdigest(), name
