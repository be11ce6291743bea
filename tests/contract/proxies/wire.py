"""A connection that sends what it is told, byte for byte, and reads answers as they are framed."""

import contextlib
import socket

PATIENCE_S = 15.0


class Wire:
    """One connection to `port` of this machine."""

    def __init__(self, port: int, timeout_s: float = PATIENCE_S) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self._buffer = b""

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, content: bytes) -> "Wire":
        """Send; a peer that has hung up already is no error, its answer may still be there."""
        with contextlib.suppress(OSError):
            self._socket.sendall(content)
        return self

    def answer(self) -> tuple[int, bytes] | None:
        """Status and body of the next answer; None when the connection ends instead."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._receive():
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        status, *lines = head.lower().split(b"\r\n")
        fields = dict(line.split(b":", 1) for line in lines)
        if fields.get(b"transfer-encoding", b"").strip() == b"chunked":
            return int(status.split()[1]), self._chunks()
        length = int(fields.get(b"content-length", b"0"))
        while len(self._buffer) < length:
            if not self._receive():
                return None
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return int(status.split()[1]), body

    def _chunks(self) -> bytes:
        body = b""
        while True:
            while b"\r\n" not in self._buffer and self._receive():
                pass
            size, _, self._buffer = self._buffer.partition(b"\r\n")
            length = int(size or b"0", 16)
            while len(self._buffer) < length + 2 and self._receive():
                pass
            body += self._buffer[:length]
            self._buffer = self._buffer[length + 2 :]
            if length == 0:
                return body

    def _receive(self) -> bool:
        try:
            received = self._socket.recv(65536)
        except ConnectionError:
            return False
        self._buffer += received
        return bool(received)


def get(port: int, path: str = "/body.json") -> tuple[int, bytes] | None:
    """What one GET on a connection of its own is answered."""
    with Wire(port) as wire:
        return wire.send(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()).answer()
