"""A small server of other protocols than HTTP/1.1: `speaker.py PROTOCOL PORT [MODE]`.

Each answers as `tare load` expects it; with MODE `wrong` one byte, or the status, is another one.
"""

import base64
import hashlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def received(stream: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        piece = stream.recv(length - len(found))
        if not piece:
            raise EOFError
        found += piece
    return found


def changed(message: bytes, mode: str) -> bytes:
    return message[:-1] + bytes([message[-1] ^ 1]) if mode == "wrong" else message


def echo(stream: socket.socket, mode: str) -> None:
    while piece := stream.recv(65536):
        stream.sendall(changed(piece, mode))


def proto(stream: socket.socket, mode: str) -> None:
    """Messages shorter than 128 bytes, whose length is one byte."""
    while True:
        message = received(stream, received(stream, 1)[0])
        answer = b"more of " + message if mode == "wrong" else b"got " + message
        stream.sendall(bytes([len(answer)]) + answer)


def websocket(stream: socket.socket, mode: str) -> None:
    """Messages shorter than 126 bytes, each in a frame."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += received(stream, 1)
    lines = dict(line.split(b": ", 1) for line in head.split(b"\r\n") if b": " in line)
    proof = base64.b64encode(hashlib.sha1(lines[b"Sec-WebSocket-Key"] + KEY).digest())
    switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    stream.sendall(switch + b"Sec-WebSocket-Accept: " + proof + b"\r\n\r\n")
    while True:
        opcode, size = received(stream, 2)
        mask, payload = received(stream, 4), received(stream, size & 0x7F)
        message = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        answer = message if opcode == 0x88 else changed(message, mode)
        kind = 0x81 if mode == "text" else opcode
        stream.sendall(bytes([kind, len(answer)]) + answer)


def grpc_calls(port: int, mode: str) -> None:
    import grpc

    class Calls(grpc.GenericRpcHandler):
        def service(self, details: Any) -> Any:
            if details.method == "/pkg.Service/Many":
                return grpc.unary_stream_rpc_method_handler(many)
            return grpc.unary_unary_rpc_method_handler(one)

    def one(message: bytes, context: Any) -> bytes:
        if mode == "status":
            context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")
        return b"\x0a" + (b"more of " if mode == "wrong" else b"got ") + message

    def many(message: bytes, context: Any) -> Iterator[bytes]:
        yield message
        yield b"again"

    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Calls()])
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


STREAMS: dict[str, Callable[[socket.socket, str], None]] = {
    "echo": echo, "proto": proto, "ws": websocket,
}  # fmt: skip


def serve(stream: socket.socket, protocol: str, mode: str) -> None:
    with stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            STREAMS[protocol](stream, mode)
        except (EOFError, OSError):
            return


def main() -> None:
    protocol, port, mode = sys.argv[1], int(sys.argv[2]), "".join(sys.argv[3:])
    if protocol == "grpc":
        return grpc_calls(port, mode)
    with socket.create_server(("127.0.0.1", port), backlog=64) as listener:
        while True:
            stream, _ = listener.accept()
            arguments = (stream, protocol, mode)
            threading.Thread(target=serve, args=arguments, daemon=True).start()


main()
