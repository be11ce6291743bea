"""What every sandbox must answer and refuse; how its statistics are read."""

import hashlib
import json
import socket
from base64 import b64decode
from typing import Any

from tare.lab.hooks import OracleError

_PATIENCE_S = 20.0
# Fields of a request and of a reply, as crates/program/src/protocol.rs has them.
_CALL, _UNLOAD, _STATS = 2, 3, 4
_RESPONSE, _REFUSAL, _DONE, _REPORT = 1, 2, 3, 4


def oracle(site: Any) -> None:
    """The workload is answered as it must be, again and again; what is wrong is refused by name."""
    message = b64decode(site.parameters["message"])
    for number in range(3 * site.parameters["workers"]):
        digest = hashlib.sha256(_ask(_path(site), message)).hexdigest()
        if digest != site.parameters["answer"]:
            raise OracleError(f"call {number}: an answer other than the right one")
    for request, kind in (
        (_bytes_field(_CALL, _bytes_field(1, b"nobody")), "unloaded"),
        (_bytes_field(_UNLOAD, b"nobody"), "unloaded"),
        (b"", "request"),
    ):
        if (found := _refusal(_ask(_path(site), request))) != kind:
            raise OracleError(f"a wrong request: found {found!r}, expected the refusal {kind!r}")


def counters(site: Any) -> dict[str, int]:
    """Calls with a response, and all others."""
    found = _statistics(site)
    return {"ok": found["ok"], "failed": sum(found["failures"].values())}


def probe(site: Any) -> dict[str, float]:
    """Microseconds that each part of the calls took in all, and CPU time of collected workers."""
    found = _statistics(site)
    parts = {f"{name}_us": part["sum_us"] for name, part in found["phases"].items()}
    return parts | {"worker_cpu_us": found["worker_cpu_us"]}


def audit(site: Any, before: Any, after: Any, result: Any) -> None:
    """It counted just the calls that the instrument had answered, warm-up included."""
    if sum(result["total"]["errors"].values()) or result["load"]["unfinished"]:
        return
    found, wanted = after["ok"] - before["ok"], result["total"]["requests"]
    if found != wanted:
        raise OracleError(f"it counted {found} calls with a response, expected {wanted}")


def _path(site: Any) -> str:
    """The daemon's socket."""
    return f"/dev/shm/{site.tag}.sock"


def _statistics(site: Any) -> dict[str, Any]:
    report = _fields(_ask(_path(site), _number_field(_STATS, 1)))[_REPORT]
    return dict(json.loads(report)["handles"]["udf"])


def _refusal(reply: bytes) -> str | None:
    """The kind of a refusal; None for any other reply."""
    found = _fields(reply).get(_REFUSAL)
    return None if found is None else _fields(found)[1].decode()


def _ask(socket_path: str, request: bytes) -> bytes:
    """One request over a connection of its own; the reply."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(_PATIENCE_S)
        line.connect(socket_path)
        line.sendall(_varint(len(request)) + request)
        with line.makefile("rb") as stream:
            return _read_frame(stream)


def _read_frame(stream: Any) -> bytes:
    """The next message of a stream. Raises EOFError when there is no whole one."""
    length = shift = 0
    while True:
        digit = stream.read(1)
        if not digit:
            raise EOFError("the sandbox closed the connection")
        length |= (digit[0] & 0x7F) << shift
        shift += 7
        if digit[0] < 0x80:
            break
    body = stream.read(length)
    if len(body) < length:
        raise EOFError("the sandbox closed the connection within a message")
    return bytes(body)


def _varint(value: int) -> bytes:
    """As protobuf writes numbers."""
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
