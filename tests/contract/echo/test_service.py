"""What a server says of itself: over its control socket, in its log, and as its last word."""

import json
import re
import socket
from collections.abc import Callable

import pytest
from echo_client import connect, exchange
from echo_server import Server, wait_until

pytestmark = pytest.mark.contract

_BYTES = 1 << 20
_STAMPED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ")


def test_the_statistics_are_of_what_was_done(
    serve: Callable[..., Server], variant: str, shape: str
) -> None:
    server = serve(variant, shape)
    idle = server.statistics()
    assert (idle["server"], idle["shape"], idle["threads"]) == (variant, shape, 1)
    assert idle["draining"] is False
    with connect(server.port) as first, connect(server.port) as second:
        exchange(first, _BYTES, seed=3)
        exchange(second, _BYTES, seed=4)
        busy = server.statistics()
        assert busy["connections"] == 2
        # A relay forwards there and back.
        ways = 1 if shape == "echo" else 2
        assert busy["bytes"] - idle["bytes"] == 2 * _BYTES * ways
        assert busy["messages"] > idle["messages"]
        wait_until(
            lambda: server.statistics()["messages_per_second_now"] > 0,
            lambda: f"no rate: {server.statistics()}",
        )
    ended = server.settles()
    assert ended["closed"] == ended["accepted"]
    assert ended["rss_bytes"] > 0
    assert ended["uptime_s"] > idle["uptime_s"]
    assert ended["switches_voluntary"] >= idle["switches_voluntary"]
    assert ended["cpu_user_s"] + ended["cpu_system_s"] >= idle["cpu_user_s"] + idle["cpu_system_s"]


def test_the_log_has_times_and_ends_in_json(serve: Callable[..., Server], variant: str) -> None:
    server = serve(variant)
    with connect(server.port) as connection:
        exchange(connection, _BYTES, seed=5)
    server.settles()
    assert server.stop() == 0, server.log.read_text()
    *lines, last = server.log.read_text().splitlines()
    assert lines
    assert all(_STAMPED.match(line) for line in lines), lines
    word = json.loads(last)
    assert word["bytes"] == _BYTES
    assert word["connections"] == 0


def test_who_asks_and_goes_or_does_not_listen_holds_nobody(
    serve: Callable[..., Server], variant: str
) -> None:
    server = serve(variant)
    silent = []
    for _ in range(20):
        asking = socket.socket(socket.AF_UNIX)
        asking.connect(str(server.control))
        silent.append(asking)
    for one in silent[::2]:
        one.close()
    assert server.statistics()["server"] == variant
    with connect(server.port) as connection:
        exchange(connection, 1000, seed=6)
    for one in silent[1::2]:
        one.close()


def test_a_control_socket_that_a_killed_server_left_is_replaced(
    serve: Callable[..., Server], variant: str
) -> None:
    killed = serve(variant)
    killed.kill()
    assert killed.control.exists()
    after = Server(variant, killed.control.parent)
    try:
        assert after.statistics()["bytes"] == 0
        assert after.stop() == 0, after.log.read_text()
    finally:
        after.kill()
    assert not killed.control.exists()
