"""The calls of every sandbox, its exact answers and refusals, and its statistics."""

import hashlib
import json
import socket
import subprocess
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from tare.lab.project.hooks import Answered, HookError, OracleError, SiteView
from tare.probes.reading import Counter, Gauge, Reading

_PATIENCE_S = 20.0
# The oracle makes so many calls more than one, and goes on for so many seconds.
_ASKED_LEAST, _ASKED_S = 2, 2.0
# What payload is told to do with its elements.
_WAYS = ("request", "response", "callback")
# Fields of a request and of a reply, as crates/program/src/protocol.rs has them.
_CALL, _UNLOAD, _STATS = 2, 3, 4
_RESPONSE, _REFUSAL, _DONE, _REPORT = 1, 2, 3, 4


def workload(site: SiteView, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The file with the call as it is sent, and the SHA-256 of the only right answer."""
    request, response = _asked(site, parameters)
    file = Path(f"/dev/shm/{site.tag}.message")
    file.write_bytes(_call("udf", request))
    return {"message": str(file), "answer": hashlib.sha256(_response(response)).hexdigest()}


def oracle(site: SiteView) -> None:
    """The workload is answered as it must be, again and again; what is wrong is refused by name."""
    request, response = _asked(site, site.parameters)
    call, answer = _call("udf", request), _response(response)
    begun = time.monotonic()
    for number in range(3 * site.parameters["workers"]):
        if _request(_path(site), call) != answer:
            raise OracleError(f"call {number}: an answer other than the right one")
        if number >= _ASKED_LEAST and time.monotonic() - begun > _ASKED_S:
            break  # the answers to a call that takes long are compared while it is measured, too
    for request, kind in (
        (_call("nobody", b""), "unloaded"),
        (_bytes_field(_UNLOAD, b"nobody"), "unloaded"),
        (b"", "request"),
    ):
        if (found := _refusal(_request(_path(site), request))) != kind:
            raise OracleError(f"a wrong request: found {found!r}, expected the refusal {kind!r}")


def counters(site: SiteView) -> dict[str, int]:
    """Calls with a response, those of them whose payload was in shared memory, and all others."""
    found = _statistics(site)
    failed = sum(found["failures"].values())
    return {"ok": found["ok"], "shared": found["shared"], "failed": failed}


def probe(site: SiteView) -> dict[str, Reading]:
    """Microseconds that each part of the calls took in all, and CPU time of collected workers; the
    median of the time from a request to its response."""
    found = _statistics(site, anew=True)
    phases = found["phases"]
    parts: dict[str, Reading] = {
        f"{name}_us": Counter(part["sum_us"]) for name, part in phases.items()
    }
    return parts | {
        "execute_p50_us": Gauge(phases["execute"]["p50_us"]),
        "worker_cpu_us": Counter(found["worker_cpu_us"]),
    }


def audit(
    site: SiteView, before: Mapping[str, int], after: Mapping[str, int], answered: Answered
) -> None:
    """It counted just the calls that the instrument had answered, warm-up included, and their
    payload went the way it was to go."""
    load = answered.result.load
    if load is None:
        return  # what it loads, it calls itself, and sees that the answer is right
    if answered.total.failed or load.unfinished:
        return
    found, wanted = after["ok"] - before["ok"], answered.total.requests
    if found != wanted:
        raise OracleError(f"it counted {found} calls with a response, expected {wanted}")
    shared = after["shared"] - before["shared"]
    if shared != (found if site.parameters["shared"] else 0):
        raise OracleError(f"of {found} calls {shared} had their payload in shared memory")


def _asked(site: SiteView, parameters: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """A function's request, and the only right response to it; of a user's own function, its
    response without the daemon."""
    if "udf" not in site.part:
        return _exchange(parameters)
    request = site.part["request"].read_bytes() if "request" in site.part else b""
    return request, _asked_alone(site.part["udf"], request)


def _exchange(parameters: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """A function's request, and the only right response to it, worked out without the function."""
    udf, size, count = (parameters[name] for name in ("udf", "elem_size", "elem_count"))
    if (udf == "payload") != (count > 0):
        raise HookError(
            f"{parameters['way'] or udf} with {count} elements: expected a payload with the ways "
            "request, response and callback, and none with all other calls"
        )
    match udf:
        case "hello":
            return b"", _bytes_field(1, b"Hello, world!")
        case "sieve":
            return _number_field(1, parameters["n"]), _number_field(1, _primes(parameters["n"]))
        case "sort":
            return _number_field(1, parameters["n"]), _number_field(1, _checksum(parameters["n"]))
        case "log":
            return _number_field(1, parameters["n"]), _number_field(1, parameters["n"])
    element, seen = b"\n" * size, _number_field(1, size * count)
    if parameters["way"] == "request":
        return _bytes_field(4, element) * count, seen
    way = _number_field(3, _WAYS.index(parameters["way"]))
    request = _number_field(1, size) + _number_field(2, count) + way
    answered = _bytes_field(2, element) * count if parameters["way"] == "response" else b""
    return request, answered + seen


@cache
def _asked_alone(program: Path, request: bytes) -> bytes:
    """Return the response of a function that answers a request always alike.

    Raises OracleError for one that does not.
    """
    first, again = (_response_of(program, request) for _ in range(2))
    if first != again:
        raise OracleError(
            "the function answers the same request differently each time, so that no answer can be "
            "known to be right; make it deterministic"
        )
    return first


def _response_of(program: Path, request: bytes) -> bytes:
    """Start a function by itself and ask it once, as a sandbox does. Raises OracleError."""
    ours, its = socket.socketpair()
    with ours, its:
        ours.settimeout(_PATIENCE_S)
        quiet = subprocess.DEVNULL
        argv, fds = [str(program), str(its.fileno())], [its.fileno()]
        try:
            process = subprocess.Popen(
                argv, pass_fds=fds, env={}, stdin=quiet, stdout=quiet, stderr=quiet
            )
        except OSError as error:
            raise OracleError(f"the function does not start: {error.strerror}") from error
        its.close()
        try:
            with ours.makefile("rb") as stream:
                if not stream.read(1):
                    raise EOFError("it ended without its ready byte")
                ours.sendall(_varint(len(request)) + request)
                return _read_frame(stream)
        except (OSError, EOFError) as error:
            raise OracleError(
                f"the function, asked without a sandbox, does not answer: {error}; it must write a "
                "ready byte, read one request and write one response (udf/README.md)"
            ) from error
        finally:
            process.kill()
            process.wait()


@cache
def _primes(most: int) -> int:
    """Return the number of primes up to `most`."""
    prime = np.ones(most + 1, dtype=bool)
    prime[:2] = False
    for number in range(2, int(most**0.5) + 1):
        if prime[number]:
            prime[number * number :: number] = False
    return int(prime.sum())


@cache
def _checksum(count: int) -> int:
    """Over so many pseudo-random items in their order, as udf/sort.c makes and adds them up."""
    state, items = 1, np.empty(count, dtype=np.uint64)
    for index in range(count):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        items[index] = state
    powers = np.full(count, 31, dtype=np.uint64)
    powers[0] = 1
    # Arithmetic in 64 bits: what is carried out of them is lost, as in C.
    return int((np.sort(items) * np.cumprod(powers)[::-1]).sum())


def _call(name: str, request: bytes) -> bytes:
    """A call of what is loaded as `name`."""
    sent = _bytes_field(2, request) if request else b""
    return _bytes_field(_CALL, _bytes_field(1, name.encode()) + sent)


def _response(response: bytes) -> bytes:
    """The reply to a call that is answered so."""
    return _bytes_field(_RESPONSE, _bytes_field(1, response) if response else b"")


def _path(site: SiteView) -> str:
    """The daemon's socket."""
    return f"/dev/shm/{site.tag}.sock"


def _statistics(site: SiteView, *, anew: bool = False) -> dict[str, Any]:
    report = _fields(_request(_path(site), _number_field(_STATS, anew)))[_REPORT]
    return dict(json.loads(report)["handles"]["udf"])


def _refusal(reply: bytes) -> str | None:
    """The kind of a refusal; None for any other reply."""
    found = _fields(reply).get(_REFUSAL)
    return None if found is None else _fields(found)[1].decode()


def _request(socket_path: str, request: bytes) -> bytes:
    """One request over a connection of its own; the reply."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(_PATIENCE_S)
        line.connect(socket_path)
        line.sendall(_varint(len(request)) + request)
        with line.makefile("rb") as stream:
            return _read_frame(stream)


def _read_frame(stream: IO[bytes]) -> bytes:
    """The next message of a stream. Raises EOFError when there is no whole one."""
    length = shift = 0
    while True:
        digit = stream.read(1)
        if not digit:
            raise EOFError("the connection was closed")
        length |= (digit[0] & 0x7F) << shift
        shift += 7
        if digit[0] < 0x80:
            break
    body = stream.read(length)
    if len(body) < length:
        raise EOFError("the connection was closed within a message")
    return bytes(body)


def _varint(value: int) -> bytes:
    """Encode a number as protobuf does."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def _number_field(field: int, value: int) -> bytes:
    """A field with a number."""
    return _varint(field << 3) + _varint(value)


def _bytes_field(field: int, value: bytes) -> bytes:
    """A field with bytes."""
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _fields(message: bytes) -> dict[int, Any]:
    """The last value of each field: int, or bytes."""
    found: dict[int, Any] = {}
    rest = memoryview(message)
    while rest:
        key, rest = _number(rest)
        value, rest = _number(rest)
        if key & 7 == 2:
            found[key >> 3], rest = bytes(rest[:value]), rest[value:]
        else:
            found[key >> 3] = value
    return found


def _number(rest: memoryview) -> tuple[int, memoryview]:
    value = shift = 0
    while True:
        digit, rest = rest[0], rest[1:]
        value |= (digit & 0x7F) << shift
        shift += 7
        if digit < 0x80:
            return value, rest
