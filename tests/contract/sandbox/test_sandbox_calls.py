"""Functions in all languages answer right in every mode, with payloads and callbacks."""

import shutil
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from benches import why_not
from sandboxes import PRIMES, SLOW, Refused, Sandbox, checksum, udf, wire

LANGUAGES = ("c", "rust", "cpp", "go")


def needed(mode: str, language: str) -> None:
    """Skip, with the reason, what a mode does not run, or what cannot be built here."""
    if reason := why_not("sandbox/calls", mode, language=language):
        pytest.skip(reason)
    if language == "go" and shutil.which("go") is None:
        pytest.skip("there is no go")


@pytest.mark.parametrize("language", LANGUAGES)
def test_functions_answer_right(mode: str, language: str, serve: Callable[..., Sandbox]) -> None:
    needed(mode, language)
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
    needed(mode, language)
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
