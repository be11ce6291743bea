"""The way between two hosts: how long it takes the kernel to answer from the other end."""

import socket
import time
from contextlib import closing

_TRIES = 20
_PATIENCE_S = 5.0
_doors: dict[int, socket.socket] = {}


def open_door(address: str) -> int:
    """Listen at an address until `close_door`, without reading anything; return the port."""
    door = socket.create_server((address, 0), backlog=_TRIES)
    port = int(door.getsockname()[1])
    _doors[port] = door
    return port


def close_door(port: int) -> None:
    """Listen there no longer."""
    _doors.pop(port).close()


def round_trip_us(own: str, address: str, port: int) -> float:
    """Return the least time that a TCP handshake takes, which is one round trip: the other end's
    kernel answers it. Raises OSError when there is no way.
    """
    found = []
    for _ in range(_TRIES):
        began = time.perf_counter()
        with closing(socket.create_connection((address, port), _PATIENCE_S, (own, 0))):
            found.append(time.perf_counter() - began)
    return min(found) * 1e6
