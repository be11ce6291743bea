"""Clients that want to keep the daemon from others: by connections, half requests, descriptors."""

import contextlib
import itertools
import resource
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sandboxes import Refused, Sandbox, udf, wait_until, wire

SIZE = 1 << 20
MODE = pytest.mark.parametrize("mode", ["namespaces"], indirect=True)


@contextlib.contextmanager
def connections(sandbox: Sandbox, count: int) -> Iterator[list[socket.socket]]:
    """Connections on which nothing is said."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            line = stack.enter_context(socket.socket(socket.AF_UNIX))
            line.setblocking(False)
            with contextlib.suppress(BlockingIOError):  # while as many wait as may
                line.connect(sandbox.socket)
            made.append(line)
        yield made


def payload(size: int) -> bytes:
    return bytes(wire.bytes_field(4, bytes(size)))


def served(sandbox: Sandbox, size: int) -> bool:
    with contextlib.suppress(Refused):
        return bool(sandbox.call("udf", payload(size))[1] == size)
    return False


@pytest.mark.parametrize("drips", [False, True])
def test_half_a_request_is_held_for_a_while_only(
    drips: bool, serve: Callable[..., Sandbox]
) -> None:
    options = ("--payload-mb", "8", "--reply-ms", "300", "--workers", "1")
    sandbox = serve("none", *options, "--load", f"udf={udf('payload')}")
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sandbox.socket)
        line.sendall(wire.varint(100 * SIZE) + bytes(5 * SIZE))
        give_up, is_closed = time.monotonic() + 20, False
        while drips and not is_closed and time.monotonic() < give_up:
            try:
                line.sendall(b"x")
            except OSError:
                is_closed = True
            time.sleep(0.01)
        assert is_closed == drips
        wait_until(lambda: served(sandbox, 2 * SIZE), lambda: "not served", 20)
        line.settimeout(20)
        with contextlib.suppress(ConnectionResetError):
            assert line.recv(1) == b""


def test_who_is_refused_holds_nothing_more(serve: Callable[..., Sandbox]) -> None:
    options = ("--payload-mb", "8", "--workers", "1")
    sandbox = serve("none", *options, "--load", f"udf={udf('payload')}")
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sandbox.socket)
        # More than there is room for, of a request that goes on.
        line.sendall(wire.varint(100 * SIZE) + bytes(9 * SIZE))
        assert line.recv(1) != b""
        wait_until(lambda: served(sandbox, 2 * SIZE), lambda: "not served", 20)


@MODE
def test_one_client_leaves_connections_to_others(mode: str, serve: Callable[..., Sandbox]) -> None:
    # An eighth of these are connections, and half of them one client's.
    around = ("prlimit", "--nofile=512")
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('hello')}", around=around)

    def outcome() -> str:
        try:
            sandbox.call("udf")
        except Refused as refused:
            assert refused.kind == "busy" and "this client" in refused.args[1]
            return "refused"
        except OSError:
            return "hung up on before all was sent"
        return "served"

    with connections(sandbox, 512 // 8 // 2):
        wait_until(lambda: outcome() == "refused", lambda: "not refused", 20)
        # Another process is another client.
        assert sandbox.cli("call", "udf", input=b"").returncode == 0
    wait_until(lambda: outcome() == "served", lambda: "still refused", 20)


@MODE
def test_a_lack_of_descriptors_passes(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('hello')}")
    launcher = sandbox.process.pid
    taken = {int(each.name) for each in Path(f"/proc/{launcher}/fd").iterdir()}
    none_left = next(number for number in itertools.count() if number not in taken)
    soft, hard = resource.prlimit(launcher, resource.RLIMIT_NOFILE)
    # What the broker passes with its question does not arrive.
    resource.prlimit(launcher, resource.RLIMIT_NOFILE, (none_left, hard))
    done = sandbox.cli("load", "--workers", "1", "other", str(udf("hello")), text=True)
    assert done.returncode == 1 and "the launcher" in done.stderr, done.stderr
    resource.prlimit(launcher, resource.RLIMIT_NOFILE, (soft, hard))
    sandbox.load("other", udf("hello"), "--workers", "1")
    assert sandbox.call("other") and sandbox.call("udf")


def test_binaries_have_a_budget(serve: Callable[..., Sandbox], tmp_path: Path) -> None:
    sandbox, file = serve("none", "--binaries-mb", "1"), tmp_path / "long"
    file.write_bytes(udf("hello").read_bytes() + bytes(600_000))
    sandbox.load("first", file, "--workers", "1")
    done = sandbox.cli("load", "--workers", "1", "second", str(file), text=True)
    assert done.returncode == 1
    assert "larger --binaries-mb" in done.stderr
    assert sandbox.call("first")
    sandbox.unload("first")
    sandbox.load("second", file, "--workers", "1")
    assert sandbox.call("second")
