"""Every limit of a call holds, by name, in every mode; and so does a full queue."""

import contextlib
import re
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sandboxes import (
    AROUND,
    SLOW,
    WITHIN,
    Decoys,
    Refused,
    Sandbox,
    decoys,
    groups,
    udf,
    wait_until,
    wire,
)

OPTIONS = ("--workers", "2", "--memory-mb", "32", "--deadline-ms", "600", "--cpu-s", "1")
# Modes whose functions cannot fork.
ONE_PROCESS = {"kvm", "wasm"}
# For what ends for another reason, however long a busy machine takes to it.
LATE = ("--deadline-ms", "20000")


def refused(act: Callable[[], object]) -> str:
    """The kind of failure."""
    with pytest.raises(Refused) as caught:
        act()
    return caught.value.kind


@pytest.fixture
def made(tmp_path: Path) -> object:
    folder = tmp_path / "decoys"
    folder.mkdir()
    with decoys(folder) as found:
        yield found


def test_limits_hold(mode: str, serve: Callable[..., Sandbox], made: Decoys) -> None:
    sandbox = serve(mode, *OPTIONS[:4], *LATE, "--load", f"udf={udf('attack')}")

    def kind(attack: str) -> str:
        soon = 600 if attack in ("hang", "endless_loop") else 0
        return refused(lambda: sandbox.call("udf", made.request(attack), deadline_ms=soon))

    assert kind("hang") == "deadline"
    assert kind("endless_loop") == "deadline"
    for bomb in ("memory_bomb", "shared_memory_bomb"):
        if mode not in AROUND:
            assert kind(bomb) == "memory"
            continue
        # Memory is that of all workers together: they end, or the kernel around them has no more.
        with contextlib.suppress(Refused):
            assert sandbox.call("udf", made.request(bomb))[1] == b"blocked"
    assert kind("crash") == "died"
    assert kind("leave") == "died"
    assert kind("half_response") == "died"
    assert kind("after_close") == "protocol"
    assert kind("varint_overflow") == "protocol"
    assert kind("length_over_limit") == "protocol"
    assert kind("huge_response") == "protocol"
    forked = sandbox.call("udf", made.request("fork_bomb"))
    assert forked[1] == b"blocked", forked
    assert int(forked[2].split()[0]) <= 16
    assert sandbox.call("udf", made.request("hello"))[1] == b"unknown"


def test_cpu_time_is_limited(mode: str, serve: Callable[..., Sandbox], made: Decoys) -> None:
    options = ("--workers", "1", "--cpu-s", "1", "--deadline-ms", "60000")
    sandbox = serve(mode, *options, "--load", f"udf={udf('attack')}")
    loop = made.request("endless_loop")
    assert refused(lambda: sandbox.call("udf", loop)) == "cpu_time"
    assert refused(lambda: sandbox.call("udf", loop, deadline_ms=50)) == "deadline"


def test_cpu_time_is_that_of_all_processes(
    mode: str, serve: Callable[..., Sandbox], made: Decoys
) -> None:
    options = ("--workers", "1", "--cpu-s", "2", "--deadline-ms", "60000")
    sandbox = serve(mode, *options, "--load", f"udf={udf('attack')}")
    bomb = made.request("cpu_bomb")
    if mode in ONE_PROCESS:
        assert sandbox.call("udf", bomb)[1] == b"blocked"
    else:
        assert refused(lambda: sandbox.call("udf", bomb)) == "cpu_time"
    assert sandbox.call("udf", made.request("hello"))[1] == b"unknown"


def test_what_is_not_called_does_not_compute(mode: str, serve: Callable[..., Sandbox]) -> None:
    if mode in WITHIN:
        pytest.skip("its workers are no processes of the host, which alone are frozen")
    sandbox = serve(mode, "--workers", "2", "--load", f"udf={udf('restless')}")
    wait_until(lambda: sandbox.stats("udf")["frozen"] == 2, lambda: "not frozen")
    assert sandbox.call_raw("udf", b"") == b""
    assert sandbox.call_raw("udf", b"") == b""
    wait_until(lambda: sandbox.stats("udf")["ready"] == 2, lambda: "not refilled")
    sandbox.unload("udf")
    wait_until(lambda: not sandbox.workers(), lambda: f"left: {sandbox.workers()}")


def test_no_process_leaves_a_core(mode: str, serve: Callable[..., Sandbox]) -> None:
    """A limit of 0 would not keep the kernel from starting the host's program for cores."""
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('hello')}")
    for process in [*sandbox.own(), *sandbox.workers()]:
        limits = Path(f"/proc/{process}/limits").read_text()
        assert re.search(r"^Max core file size +1 +1 +bytes", limits, re.MULTILINE), limits


@pytest.mark.parametrize("mode", ["namespaces"], indirect=True)
def test_who_loads_again_and_again_hides_nobody(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox, over = serve(mode), threading.Event()

    def load() -> None:
        while not over.is_set():
            sandbox.load("other", udf("hello"), "--workers", "1")
            sandbox.unload("other")

    loader = threading.Thread(target=load)
    loader.start()
    try:
        sandbox.load("udf", udf("restless"), "--workers", "1")
        wait_until(lambda: sandbox.stats("udf")["frozen"] == 1, lambda: "not frozen", 20)
    finally:
        over.set()
        loader.join()


def test_callbacks_are_limited(mode: str, serve: Callable[..., Sandbox], made: Decoys) -> None:
    sandbox = serve(mode, *OPTIONS[:4], *LATE, "--request-bytes", "1000000")
    sandbox.load("udf", udf("attack"), "--callbacks", "--workers", "2")
    assert refused(lambda: sandbox.call("udf", made.request("callback_flood"))) == "protocol"
    deaf = made.request("deaf_callbacks")
    assert refused(lambda: sandbox.call("udf", deaf, deadline_ms=3000)) in ("protocol", "deadline")


def test_payloads_are_limited(mode: str, serve: Callable[..., Sandbox]) -> None:
    sizes = ("--request-bytes", "1000", "--response-bytes", "1000")
    sandbox = serve(mode, "--workers", "2", *sizes, "--load", f"udf={udf('payload')}")
    number, text = wire.number_field, wire.bytes_field
    exact = text(4, b"x" * 997)
    assert len(exact) == 1000
    assert sandbox.call("udf", exact)[1] == 997
    assert refused(lambda: sandbox.call("udf", exact + b"\x08")) == "request_too_long"

    def answer_of(size: int) -> bytes:
        return sandbox.call_raw("udf", number(1, size) + number(2, 1) + number(3, 1))

    # Two bytes of its own and a length before the payload, three for the count.
    assert len(answer_of(994)) == 1000
    assert refused(lambda: answer_of(995)) == "protocol"


def test_what_is_said_on_standard_streams_is_kept_nowhere(
    mode: str, serve: Callable[..., Sandbox], made: Decoys
) -> None:
    sandbox = serve(mode, "--workers", "1", "--memory-mb", "32", "--load", f"udf={udf('attack')}")
    said = sandbox.log.read_bytes()
    found = sandbox.call("udf", made.request("talk_much"))
    assert found == {1: b"blocked", 2: b"%d bytes said" % (128 << 20)}
    assert sandbox.log.read_bytes() == said


def test_who_does_not_read_meets_the_deadline(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, *OPTIONS, "--load", f"udf={udf('rude-deaf')}")
    # More than a socket holds, so that it cannot even be sent.
    assert refused(lambda: sandbox.call("udf", bytes(5_000_000))) == "deadline"


def test_a_client_that_reads_no_reply_keeps_no_worker(
    mode: str, serve: Callable[..., Sandbox]
) -> None:
    sandbox = serve(mode, "--workers", "1", "--reply-ms", "200", "--load", f"udf={udf('payload')}")
    number, text = wire.number_field, wire.bytes_field
    size, before = 8 << 20, sandbox.descriptors()
    ask = wire.bytes_field(
        2, text(1, b"udf") + text(2, number(1, size) + number(2, 1) + number(3, 1))
    )
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sandbox.socket)
        line.sendall(wire.varint(len(ask)) + ask)
        wait_until(lambda: sandbox.stats("udf")["ok"] == 1, lambda: "not called")
        assert sandbox.call("udf", text(4, b"x"))[1] == 1
        wait_until(lambda: sandbox.descriptors() <= before, lambda: "the connection is still open")
        with line.makefile("rb") as stream:
            assert 0 < len(stream.read()) < size


def test_payloads_of_all_clients_have_a_budget(serve: Callable[..., Sandbox]) -> None:
    options = ("--payload-mb", "8", "--workers", "1")
    sandbox = serve("none", *options, "--load", f"udf={udf('payload')}")
    number, text = wire.number_field, wire.bytes_field
    size = 1 << 20
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sandbox.socket)
        # A frame that never ends.
        line.sendall(wire.varint(100 * size) + bytes(5 * size))
        assert refused(lambda: sandbox.call("udf", text(4, bytes(6 * size)))) == "busy"

    def served(request: int) -> bool:
        with contextlib.suppress(Refused):  # while what others gave up is not given back
            return bool(sandbox.call("udf", text(4, bytes(request)))[1] == request)
        return False

    wait_until(lambda: served(1), lambda: "not served")
    # Of a response, with its copy.
    answer = number(1, 5 * size) + number(2, 1) + number(3, 1)
    assert refused(lambda: sandbox.call_raw("udf", answer)) == "busy"
    wait_until(lambda: served(size), lambda: "not served")


@pytest.mark.skipif(
    not Path("/sys/fs/cgroup/memory").is_dir(),
    reason="without version 1 of control groups the test shares its own with the daemon",
)
def test_the_daemons_memory_has_a_bound_of_its_own(serve: Callable[..., Sandbox]) -> None:
    size, bounds = 1 << 20, ("--daemon-mb", "128", "--payload-mb", "4096")
    sandbox = serve("namespaces", *bounds, "--workers", "1", "--load", f"udf={udf('attack')}")
    with socket.socket(socket.AF_UNIX) as line, contextlib.suppress(OSError):
        line.connect(sandbox.socket)
        # A frame that is never whole.
        line.sendall(wire.varint(256 * size) + bytes(240 * size))
    assert sandbox.process.wait(10) == 1
    assert f"was ended by signal {signal.SIGKILL:d}" in sandbox.log.read_text()
    # Nothing of it is in the way of the next one.
    assert serve("namespaces").stop() == 0
    assert not groups(sandbox.process.pid)


def test_what_never_gets_ready_is_not_loaded(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, *OPTIONS)
    brief = "3000" if mode in SLOW else "200"
    for name, patience, why in (
        ("rude-mute", brief, "no ready byte within"),
        ("rude-loud", "20000", "one byte"),
    ):
        done = sandbox.cli("load", "--start-ms", patience, "udf", str(udf(name)), text=True)
        assert done.returncode == 1
        assert why in done.stderr
    assert refused(lambda: sandbox.call("udf")) == "unloaded"
    wait_until(lambda: not sandbox.workers(), lambda: f"left: {sandbox.workers()}")


def test_a_full_queue_is_busy_and_a_cancelled_call_leaves_it(
    mode: str, serve: Callable[..., Sandbox], made: Decoys
) -> None:
    sandbox = serve(mode, "--deadline-ms", "60000")
    sandbox.load("udf", udf("attack"), "--workers", "1", "--queue", "1")
    kinds: list[str] = []

    def hang(number: int) -> threading.Thread:
        def run() -> None:
            done = sandbox.cli(
                "call", "--number", str(number), "udf", input=made.request("hang"), timeout=60
            )
            kinds.append(done.stderr.decode())

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    first = hang(1)
    wait_until(lambda: sandbox.stats("udf")["ready"] == 0, lambda: "nobody took the worker")
    second = hang(2)
    wait_until(lambda: sandbox.stats("udf")["waiting"] == 1, lambda: "nobody waits")
    assert refused(lambda: sandbox.call("udf", made.request("hello"))) == "busy"
    for number, thread in ((2, second), (1, first)):
        wait_until(
            lambda number=number: sandbox.cli("cancel", str(number)).returncode == 0,  # type: ignore[misc]
            lambda: "not found",
        )
        thread.join()
    assert len(kinds) == 2
    assert all("cancelled" in kind for kind in kinds)
    assert sandbox.call("udf", made.request("hello"))[1] == b"unknown"
    # Nothing is left to cancel.
    assert sandbox.cli("cancel", "1").returncode == 1


@pytest.mark.parametrize("mode", ["namespaces"], indirect=True)
def test_a_number_cancels_all_calls_that_have_it(
    mode: str, serve: Callable[..., Sandbox], made: Decoys
) -> None:
    sandbox = serve(mode, "--deadline-ms", "60000")
    sandbox.load("udf", udf("attack"), "--workers", "2")
    wait_until(lambda: sandbox.stats("udf")["ready"] == 2, lambda: "not ready")
    kinds: list[str] = []

    def run() -> None:
        done = sandbox.cli("call", "--number", "7", "udf", input=made.request("hang"))
        kinds.append(done.stderr.decode())

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: sandbox.stats("udf")["ready"] == 0, lambda: "not called")
    assert sandbox.cli("cancel", "7").returncode == 0
    for thread in threads:
        thread.join()
    assert ["cancelled" in kind for kind in kinds] == [True, True], kinds
    assert sandbox.cli("cancel", "7").returncode == 1


def test_a_caller_who_hangs_up_cancels(
    mode: str, serve: Callable[..., Sandbox], made: Decoys
) -> None:
    sandbox = serve(mode, "--deadline-ms", "60000")
    sandbox.load("udf", udf("attack"), "--workers", "1")
    call = wire.bytes_field(1, b"udf") + wire.bytes_field(2, made.request("hang"))
    call = wire.bytes_field(2, call)
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sandbox.socket)
        line.sendall(wire.varint(len(call)) + call)
        wait_until(lambda: sandbox.stats("udf")["ready"] == 0, lambda: "nobody took the worker")
    wait_until(
        lambda: sandbox.stats("udf")["failures"].get("cancelled") == 1, lambda: "still under way"
    )
    assert sandbox.call("udf", made.request("hello"))[1] == b"unknown"
