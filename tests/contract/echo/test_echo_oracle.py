"""The oracle notices a server that loses bytes."""

import importlib.util
import socket
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tare.lab.paths import ROOT
from tare.lab.project.hooks import OracleError

pytestmark = pytest.mark.contract
_PIECE = 65536

spec = importlib.util.spec_from_file_location("echo_hooks", ROOT / "experiments/echo/hooks.py")
assert spec is not None and spec.loader is not None
hooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hooks)


def _echo(client: socket.socket, kept: int) -> None:
    """Send back what comes. What is held when the client ends is lost beyond `kept` bytes."""
    client.settimeout(0.05)
    held = b""
    with client:
        while True:
            try:
                piece = client.recv(_PIECE)
            except TimeoutError:
                client.sendall(held)
                held = b""
                continue
            if not piece:
                client.sendall(held if len(held) <= kept else b"")
                return
            client.sendall(held)
            held = piece


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


@pytest.mark.parametrize("kept", [1000, _PIECE])
def test_bytes_that_are_lost_after_a_half_close_are_missed(
    listener: socket.socket, kept: int
) -> None:
    def serve() -> None:
        for _ in range(3):
            client, _ = listener.accept()
            threading.Thread(target=_echo, args=(client, kept), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    site = SimpleNamespace(host="127.0.0.1", port={"echo": listener.getsockname()[1]})
    if kept == _PIECE:
        hooks.oracle(site)
    else:
        with pytest.raises(OracleError, match="after a half-close"):
            hooks.oracle(site)
