"""An edge-triggered server is told of bytes once, so it must have read all that came with them."""

import signal
import socket
import time
from collections.abc import Callable

import pytest
from echo_client import connect, receive, receive_all
from echo_server import SHAPES, Server

pytestmark = pytest.mark.contract


@pytest.fixture(params=SHAPES)
def server(request: pytest.FixtureRequest, serve: Callable[..., Server]) -> Server:
    return serve("epoll-edge", str(request.param))


def test_urgent_data_hides_nothing_that_came_behind_it(server: Server) -> None:
    """A read stops before urgent data, as if nothing else were there."""
    for number in range(20):
        with connect(server.port) as connection:
            server.process.send_signal(signal.SIGSTOP)
            connection.sendall(b"before %d," % number)
            connection.send(b"!", socket.MSG_OOB)
            connection.sendall(b"behind")
            time.sleep(0.005)
            server.process.send_signal(signal.SIGCONT)
            wanted = b"before %d,behind" % number
            assert receive(connection, len(wanted)) == wanted


def test_an_end_that_came_with_the_bytes_is_seen(server: Server) -> None:
    for size in (1, 65536, 65537, 200_000):
        with connect(server.port) as connection:
            # The first piece opens the backend's connection of a relay.
            connection.sendall(b"?")
            assert receive(connection, 1) == b"?"
            server.process.send_signal(signal.SIGSTOP)
            connection.sendall(b"x" * size)
            connection.shutdown(socket.SHUT_WR)
            server.process.send_signal(signal.SIGCONT)
            assert receive_all(connection) == b"x" * size
    assert server.settles()["aborted"] == 0


def test_a_reader_that_stops_and_goes_on_gets_all(server: Server) -> None:
    """Each stop fills both directions, so that the server waits for room and for bytes in turn."""
    with connect(server.port) as connection:
        sent = received = 0
        for _ in range(5):
            connection.setblocking(False)
            try:
                while True:
                    sent += connection.send(b"y" * 65536)
            except BlockingIOError:
                pass
            time.sleep(0.05)
            connection.settimeout(20)
            while received < sent:
                received += len(connection.recv(1 << 20))
        assert received == sent > 1 << 20
