"""The exact behaviour of every echo server; and how to read its counters and CPU usage."""

import json
import random
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tare.lab.project.hooks import Answered, OracleError, SiteView
from tare.probes.reading import Counter, Reading

_PATIENCE_S = 5.0
_SIZES = (1, 64, 127, 4097, 65537, 300001)


def oracle(site: SiteView) -> None:
    """Bytes come back as they were sent: in pieces, on several connections, after a half-close."""
    noise = random.Random(11)
    connections = [_connect(site) for _ in range(3)]
    for size in _SIZES:
        for number, connection in enumerate(connections):
            message = noise.randbytes(size)
            connection.sendall(message)
            if (found := _receive(connection, size)) != message:
                raise OracleError(
                    f"connection {number}: of {size} bytes came back {len(found)}, or others"
                )
    # The longest: a server that closes too early loses what is still on its way.
    for size, connection in zip(reversed(_SIZES), connections, strict=False):
        message = noise.randbytes(size)
        connection.sendall(message)
        connection.shutdown(socket.SHUT_WR)
        found = _receive(connection, size + 1)
        if found != message:
            raise OracleError(
                f"after a half-close, of {size} bytes came back {len(found)}, or others"
            )
        connection.close()


def counters(site: SiteView) -> dict[str, int]:
    """The server's own statistics; `requests` are pieces as the data path has them."""
    found = _read_json(site, "sut")
    whole = {key: int(value) for key, value in found.items() if isinstance(value, int | float)}
    return whole | {"requests": whole["messages"]}


def probe(site: SiteView) -> dict[str, Reading]:
    """Microseconds of CPU by owner, and the other counters of the server and the CPU probe."""
    usage = _read_json(site, "usage")
    found = {
        key.replace("_ns", "_us"): value / 1e3 if key.endswith("_ns") else value
        for key, value in usage.items()
        if key != "source"
    }
    whose = ("server_us", "client_us", "backend_us", "kernel_us", "softirq_us")
    found["machine_us"] = sum(found[key] for key in whose)
    found["system_calls"] = _read_json(site, "sut")["system_calls"]
    return {key: Counter(value) for key, value in found.items()}


def audit(
    site: SiteView, before: Mapping[str, int], after: Mapping[str, int], answered: Answered
) -> None:
    """The server forwarded just the bytes that the instrument had answered, warm-up included."""
    load = answered.result.load
    if answered.total.failed or load is None or load.unfinished:
        return
    times = 2 if site.parameters["shape"] == "relay" else 1
    wanted = answered.total.requests * site.parameters["size"] * times
    found = after["bytes"] - before["bytes"]
    if found != wanted:
        raise OracleError(f"the server forwarded {found} bytes, expected {wanted}")


def _connect(site: SiteView) -> socket.socket:
    return socket.create_connection((site.host, site.port["echo"]), timeout=_PATIENCE_S)


def _receive(connection: socket.socket, count: int) -> bytes:
    parts = []
    try:
        while count and (part := connection.recv(count)):
            parts.append(part)
            count -= len(part)
    except OSError as error:
        raise OracleError(f"{count} bytes did not come back: {error}") from error
    return b"".join(parts)


def _read_json(site: SiteView, role: str) -> dict[str, Any]:
    path = Path("/dev/shm", f"{site.tag}.{role}")
    with socket.socket(socket.AF_UNIX) as control:
        control.settimeout(_PATIENCE_S)
        control.connect(str(path))
        with control.makefile("rb") as stream:
            return dict(json.loads(stream.read()))
