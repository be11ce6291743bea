"""With a minimum wait nobody is answered before all have sent something or the wait is over."""

import select
from collections.abc import Callable

import pytest
from echo_client import connect, receive
from echo_server import Server, wait_until

pytestmark = pytest.mark.contract
_LONG_US = "10000000"


def test_the_answers_to_all_take_one_system_call(serve: Callable[..., Server]) -> None:
    server = serve("uring-min-wait", "echo", "--min-wait-us", _LONG_US)
    with connect(server.port) as first, connect(server.port) as second:
        wait_until(lambda: server.statistics()["connections"] == 2, lambda: "nobody is served")
        first.sendall(b"first")
        assert select.select([first], [], [], 0.1)[0] == []
        before = server.statistics()["system_calls"]
        second.sendall(b"second")
        assert receive(first, 5) == b"first"
        assert receive(second, 6) == b"second"
        assert server.statistics()["system_calls"] == before + 1
