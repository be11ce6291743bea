"""A client that wants everything gets its share, and the others get theirs."""

import contextlib
import socket
from collections.abc import Callable, Iterator

import pytest
from sandboxes import Refused, Sandbox, udf, wait_until, wire

HONEST = 8
GREED = 20
OPTIONS = ("--workers", "4", "--client-calls", "3", "--client-workers", "2")


def request(attack: str) -> bytes:
    return bytes(wire.bytes_field(1, attack.encode()))


@contextlib.contextmanager
def calls_at_once(sandbox: Sandbox, count: int) -> Iterator[None]:
    """So many calls of one client, this process, that never end."""
    call = wire.bytes_field(1, b"udf") + wire.bytes_field(2, request("hang"))
    frame = wire.bytes_field(2, call)
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            line = stack.enter_context(socket.socket(socket.AF_UNIX))
            line.connect(sandbox.socket)
            line.sendall(wire.varint(len(frame)) + frame)
        yield


@pytest.mark.parametrize("mode", ["namespaces", "wasm"], indirect=True)
def test_a_hog_is_busy_and_the_honest_are_served(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--deadline-ms", "60000")
    sandbox.load("udf", udf("attack"), *OPTIONS)
    wait_until(lambda: sandbox.stats("udf")["ready"] == 4, lambda: "not ready")
    with calls_at_once(sandbox, GREED):
        refused = {"busy": GREED - 3}
        wait_until(
            lambda: sandbox.stats("udf")["failures"] == refused,
            lambda: f"not refused: {sandbox.stats('udf')}",
        )
        found = sandbox.stats("udf")
        # Two have workers and one waits, though workers are ready.
        assert (found["ready"], found["waiting"], found["ok"]) == (2, 1, 0)
        with pytest.raises(Refused, match="larger --client-calls") as more:
            sandbox.call("udf", request("hello"))
        assert more.value.kind == "busy"
        # Each of these is a process of its own.
        for _ in range(HONEST):
            done = sandbox.cli("call", "udf", input=request("hello"))
            assert done.returncode == 0, done.stderr
        found = sandbox.stats("udf")
        assert (found["ok"], found["failures"]) == (HONEST, {"busy": GREED - 2})
    # Its share is its own again.
    wait_until(
        lambda: sandbox.stats("udf")["failures"].get("cancelled") == 3, lambda: "not cancelled"
    )
    assert sandbox.call("udf", request("hello"))[1] == b"unknown"
