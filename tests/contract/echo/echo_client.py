"""A client of echo servers that checks every byte, with the kinds of behaviour the tests want."""

import hashlib
import random
import select
import socket
import struct
import time
from collections.abc import Iterator

PATIENCE_S = 20.0
IN_FLIGHT_BYTES = 1 << 20
_PATTERN = random.Random(5).randbytes(1 << 20)


def connect(port: int, host: str = "127.0.0.1") -> socket.socket:
    """A blocking connection that does not wait for ever."""
    made = socket.create_connection((host, port), timeout=PATIENCE_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def receive(connection: socket.socket, count: int) -> bytes:
    """Exactly `count` bytes, or all there were when the stream ended."""
    parts, left = [], count
    while left and (part := connection.recv(min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def receive_all(connection: socket.socket) -> bytes:
    """Everything until the stream ends."""
    return receive(connection, 1 << 60)


def pieces(total: int, seed: int) -> Iterator[bytes]:
    """Odd-sized pieces of bytes that repeat with no power of two, `total` bytes in all."""
    sizes = random.Random(seed)
    position = 0
    while position < total:
        size = min(total - position, int(2 ** sizes.uniform(0, 17)) | 1)
        start = position % (len(_PATTERN) - 7)
        piece = _PATTERN[start : start + min(size, len(_PATTERN) - 7 - start)]
        yield piece
        position += len(piece)


def exchange(connection: socket.socket, total: int, seed: int) -> None:
    """Send odd-sized pieces and compare every byte that comes back, a bounded number ahead."""
    sent_hash, found_hash = hashlib.sha256(), hashlib.sha256()
    connection.setblocking(False)
    source = pieces(total, seed)
    rest = memoryview(b"")
    sent = received = 0
    give_up = time.monotonic() + PATIENCE_S + total / 5e6
    while received < total:
        assert time.monotonic() < give_up, f"{received} of {total} bytes came back"
        ahead = sent - received < IN_FLIGHT_BYTES
        wants = [connection] if sent < total and ahead else []
        readable, writable, _ = select.select([connection], wants, [], PATIENCE_S)
        assert readable or writable, f"nothing came back after {received} of {sent} bytes"
        if writable:
            if not rest:
                rest = memoryview(next(source))
            count = connection.send(rest)
            sent_hash.update(rest[:count])
            sent, rest = sent + count, rest[count:]
        if readable:
            found = connection.recv(1 << 18)
            assert found, f"the stream ended after {received} of {sent} bytes"
            found_hash.update(found)
            received += len(found)
    assert received == total
    assert found_hash.digest() == sent_hash.digest()
    connection.setblocking(True)
    connection.settimeout(PATIENCE_S)


def half_close(port: int, size: int) -> None:
    """Send, end the own direction, and get all of it back before the other ends."""
    message = _PATTERN[: size % len(_PATTERN)] if size < len(_PATTERN) else _PATTERN * (size >> 20)
    with connect(port) as connection:
        connection.sendall(message)
        connection.shutdown(socket.SHUT_WR)
        assert receive_all(connection) == message


def reset(connection: socket.socket) -> None:
    """End it by a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def refuses_or_ends(connection: socket.socket) -> bool:
    """Whether the server ended the connection, kindly or not."""
    try:
        return receive_all(connection) is not None
    except ConnectionError:
        return True
