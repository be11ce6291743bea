"""Every byte comes back, once and in order, whatever the moment and the manner."""

import os
import signal
from collections.abc import Callable

import pytest
from echo_client import connect, exchange, half_close, receive
from echo_server import Server

pytestmark = pytest.mark.contract

_TOTAL = int(os.environ.get("TARE_ECHO_BYTES", 16 << 20))
"""Bytes to compare; `TARE_ECHO_BYTES=1073741824` for the long form."""
_EARLY = 60


@pytest.mark.timeout(300 + _TOTAL // 2_000_000)
def test_odd_sized_pieces_come_back_byte_for_byte(
    serve: Callable[..., Server], variant: str, shape: str
) -> None:
    server = serve(variant, shape)
    with connect(server.port) as connection:
        exchange(connection, _TOTAL, seed=3)
    found = server.settles()
    assert found["bytes"] == _TOTAL * (2 if shape == "relay" else 1)
    assert found["aborted"] == 0


def test_bytes_that_come_before_the_server_looks_are_echoed(
    serve: Callable[..., Server], variant: str, shape: str
) -> None:
    server = serve(variant, shape)
    answered = 0
    for number in range(_EARLY):
        server.process.send_signal(signal.SIGSTOP)
        with connect(server.port) as connection:
            for part in (b"early %d," % number, b"and more"):
                connection.sendall(part)
            server.process.send_signal(signal.SIGCONT)
            wanted = b"early %d,and more" % number
            answered += receive(connection, len(wanted)) == wanted
    assert answered == _EARLY


@pytest.mark.parametrize("size", [64, 1000, 65537, 1 << 20, 4 << 20])
def test_a_half_close_gets_every_byte_back(
    serve: Callable[..., Server], variant: str, shape: str, size: int
) -> None:
    server = serve(variant, shape)
    for _ in range(5):
        half_close(server.port, size)
    assert server.settles()["aborted"] == 0


def test_threads_share_the_connections(serve: Callable[..., Server], variant: str) -> None:
    server = serve(variant, "echo", "--threads", "2")
    connections = [connect(server.port) for _ in range(20)]
    for number, connection in enumerate(connections):
        exchange(connection, 100_000, seed=number)
        connection.close()
    assert server.settles()["threads"] == 2
