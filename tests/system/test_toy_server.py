"""The toy's server, which tests of the laboratory must not lose to a client's manners."""

import socket
import struct
import subprocess
import sys
from pathlib import Path

from laboratory import wait_for

SERVER = Path(__file__).parent / "project/experiments/toy/server.py"
REQUEST = b"GET / HTTP/1.1\r\nHost: toy\r\n\r\n"
CLOSE_BY_RESET = struct.pack("ii", 1, 0)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def ask(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(REQUEST)
        return connection.recv(4096)


def answers(port: int) -> bool:
    try:
        return ask(port).endswith(b"ok\n")
    except ConnectionRefusedError:
        return False


def test_clients_that_reset_their_connections_do_not_end_it() -> None:
    port = free_port()
    with subprocess.Popen([sys.executable, SERVER, "--port", str(port)]) as server:
        try:
            wait_for(lambda: answers(port))
            for sent in (b"", REQUEST):
                connection = socket.create_connection(("127.0.0.1", port))
                connection.sendall(sent)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, CLOSE_BY_RESET)
                connection.close()
                assert ask(port).endswith(b"ok\n")
            assert server.poll() is None
        finally:
            server.kill()
