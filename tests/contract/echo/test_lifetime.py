"""Connections come and go, well and badly; nothing of them stays."""

import random
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from bpf_maps import hash_entries
from echo_client import connect, exchange, receive, refuses_or_ends, reset
from echo_server import BPF, Server, wait_until

pytestmark = pytest.mark.contract

_FIRST, _CHURN = 500, 10_000
_GROWTH_BYTES = 8 << 20
_NEVER_READ_BYTES = 512 << 20
_BOUND_BYTES = 128 << 20


def test_ten_thousand_connections_leave_nothing(serve: Callable[..., Server], variant: str) -> None:
    server = serve(variant)
    _come_and_go(server, _FIRST)
    before, descriptors = _settles(server, _FIRST), server.descriptors()
    _come_and_go(server, _CHURN)
    after = _settles(server, _FIRST + _CHURN)
    assert server.descriptors() == descriptors
    assert after["rss_bytes"] - before["rss_bytes"] < _GROWTH_BYTES
    if variant in BPF:
        with connect(server.port) as connection:
            connection.sendall(b"?")
            assert connection.recv(1) == b"?"
            assert hash_entries(server.process.pid) > 0
        wait_until(
            lambda: hash_entries(server.process.pid) == 0,
            lambda: f"{hash_entries(server.process.pid)} sockets are left in the maps",
        )


def _settles(server: Server, accepted: int) -> dict[str, Any]:
    """The statistics once so many were accepted and all are closed. The last may still wait to be
    accepted, by another thread than that of the statistics.
    """
    wait_until(
        lambda: server.statistics()["accepted"] >= accepted,
        lambda: f"{accepted} accepted: {server.statistics()}",
    )
    return server.settles()


def test_a_client_that_never_reads_is_bounded_and_then_closed(
    serve: Callable[..., Server], variant: str
) -> None:
    server = serve(variant, "echo", "--stall-ms", "1000")
    before = server.peak_bytes()
    sent = 0
    connection = connect(server.port)
    connection.setblocking(False)
    give_up = time.monotonic() + 20
    try:
        while sent < _NEVER_READ_BYTES:
            try:
                sent += connection.send(b"x" * 65536)
            except (BlockingIOError, PermissionError):  # the second where nobody can wait: skmsg
                time.sleep(0.01)
            assert time.monotonic() < give_up, (
                f"not closed, after {sent} bytes: {server.statistics()}"
            )
    except ConnectionError:
        pass
    # No more can wait anywhere, in the kernel or in the server, than was taken from the client.
    assert sent < _BOUND_BYTES
    assert server.peak_bytes() - before < _GROWTH_BYTES
    assert server.settles()["aborted"] == 1
    with connect(server.port) as other:
        exchange(other, 100_000, seed=1)


def test_resets_at_any_moment(serve: Callable[..., Server], variant: str, shape: str) -> None:
    server = serve(variant, shape)
    chance = random.Random(17)
    for _ in range(300):
        connection = connect(server.port)
        connection.setblocking(False)
        for _ in range(chance.randrange(4)):
            try:
                connection.send(b"y" * chance.choice([1, 1000, 200_000]))
            except BlockingIOError:
                break
        if chance.random() < 0.5:
            time.sleep(chance.random() * 0.002)
        if chance.random() < 0.2:
            connection.shutdown(socket.SHUT_WR)
        reset(connection)
    server.settles()
    with connect(server.port) as connection:
        exchange(connection, 1 << 20, seed=2)


def test_sigterm_drains(serve: Callable[..., Server], variant: str, shape: str) -> None:
    server = serve(variant, shape)
    with connect(server.port) as connection:
        connection.sendall(b"before")
        assert receive(connection, 6) == b"before"
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "draining" in server.log.read_text(), server.log.read_text)
        connection.sendall(b"after")
        assert receive(connection, 5) == b"after"
    assert server.process.wait(10) == 0
    assert '"draining":true' in server.log.read_text().splitlines()[-1]
    assert not server.control.exists()


def test_who_comes_as_it_is_told_to_stop_is_served(
    serve: Callable[..., Server], variant: str
) -> None:
    for _ in range(5):
        server = serve(variant)
        server.settles()
        # So that it finds clients and the end at once.
        server.process.send_signal(signal.SIGSTOP)
        clients = [connect(server.port) for _ in range(3)]
        server.process.send_signal(signal.SIGTERM)
        server.process.send_signal(signal.SIGCONT)
        for client in clients:
            with client:
                exchange(client, 1 << 10, seed=7)
        assert server.process.wait(10) == 0, server.log.read_text()


def test_a_connection_that_does_not_end_does_not_hold_the_server(
    serve: Callable[..., Server], variant: str
) -> None:
    server = serve(variant, "echo", "--drain-ms", "200")
    with connect(server.port) as connection:
        connection.sendall(b"here")
        assert receive(connection, 4) == b"here"
        assert server.stop() == 0, server.log.read_text()
        assert refuses_or_ends(connection)


def test_without_a_backend_clients_are_let_go(serve: Callable[..., Server], variant: str) -> None:
    server = serve(variant, "relay")
    assert server.backend is not None
    server.backend.kill()
    server.backend.wait()
    for _ in range(20):
        try:
            connection = connect(server.port)
        except ConnectionError:
            continue  # reset before it could be looked at
        with connection:
            assert refuses_or_ends(connection)
    assert server.settles()["accepted"] >= 20


def _come_and_go(server: Server, count: int) -> None:
    for number in range(count):
        with connect(server.port) as connection:
            if number % 10 == 0:
                connection.sendall(b"?")
                assert connection.recv(1) == b"?"
            if number % 7 == 0:
                reset(connection)
