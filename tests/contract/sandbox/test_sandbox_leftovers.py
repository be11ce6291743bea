"""Nothing outlives a call, a handle or a daemon, however it ended."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from holdings import folders, holdings, leavings, resident_kb
from sandboxes import (
    SLOW,
    WITHIN,
    Refused,
    Sandbox,
    decoys,
    groups,
    named_like_workers,
    program,
    udf,
    wait_until,
)

CALLS = 400
CALLS_SLOW = 12
# Instead of these: TARE_SOAK_CALLS=100000 takes minutes a mode, and hours in those of containers.
SOAK = int(os.environ.get("TARE_SOAK_CALLS", "0"))


def processes(mode: str, workers: int) -> int:
    """How many of the host's processes are called as workers are."""
    return 0 if mode in WITHIN | {"gvisor"} else workers


def test_nothing_is_left(mode: str, serve: Callable[..., Sandbox], tmp_path: Path) -> None:
    folder = tmp_path / "decoys"
    folder.mkdir()
    before, workers = leavings(tmp_path), named_like_workers()
    sandbox = serve(mode, "--workers", "3", "--deadline-ms", "300", "--memory-mb", "32")
    pid = sandbox.process.pid
    sandbox.load(
        "udf", udf("attack"), "--workers", "3", "--deadline-ms", "300", "--memory-mb", "32"
    )
    with decoys(folder) as made:
        for attack in ("orphan", "fork_bomb", "hang", "memory_bomb", "shared_memory", "crash") * 3:
            with contextlib.suppress(Refused):
                sandbox.call("udf", made.request(attack))
    # Three workers that wait for a call, and no other process.
    wait_until(lambda: sandbox.stats("udf")["ready"] == 3, lambda: "not refilled")
    wait_until(
        lambda: len(named_like_workers() - workers) == processes(mode, 3),
        lambda: f"{len(named_like_workers() - workers)} workers, expected {processes(mode, 3)}",
    )
    sandbox.unload("udf")
    assert named_like_workers() <= workers
    # One in version 2, and in version 1 one for each controller, and one of version 2.
    assert len(groups(pid)) in ([0] if mode in WITHIN else [1, 3])
    assert all(
        not [each for each in group.iterdir() if each.name.isdigit()] for group in groups(pid)
    )
    assert sandbox.stop() == 0
    assert groups(pid) == []
    assert folders(pid) == []
    assert not Path(sandbox.socket).exists()
    assert leavings(tmp_path) == before


def test_nothing_outlives_a_killed_daemon(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    workers = named_like_workers()
    sandbox = serve(mode, "--workers", "5", "--load", f"udf={udf('hello')}")
    pid = sandbox.process.pid
    assert len(named_like_workers() - workers) >= processes(mode, 1)
    below = sandbox.workers()
    sandbox.process.send_signal(signal.SIGKILL)
    sandbox.process.wait()
    wait_until(lambda: named_like_workers() <= workers, lambda: "workers are left")
    wait_until(
        lambda: not any(Path(f"/proc/{each}").exists() for each in below),
        lambda: f"processes are left: {below}",
    )
    # Empty groups have no owner left who could remove them; the next daemon does.
    assert bool(folders(pid)) == (mode == "roma-original")
    # Any daemon takes folders away, and most groups; those that runc made only another such.
    heir = serve("none" if mode == "roma-original" else mode)
    assert groups(pid) == []
    assert folders(pid) == []
    assert heir.stop() == 0


def test_children_that_a_worker_gives_to_the_daemon_are_collected(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    folder = tmp_path / "decoys"
    folder.mkdir()
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('attack')}")
    wait_until(lambda: sandbox.stats("udf")["ready"] == 1, lambda: "not ready")
    before = len(sandbox.workers())
    with decoys(folder) as made:
        # More than a slot may have processes, where they would be left.
        rounds = 20 if mode == "none" else 1
        found = {sandbox.call("udf", made.request("sibling"))[1] for _ in range(rounds)}
    assert found == {b"open" if mode == "none" else b"blocked"}
    wait_until(lambda: sandbox.stats("udf")["ready"] == 1, lambda: "the slot is lost")
    wait_until(lambda: len(sandbox.workers()) <= before, lambda: f"left: {sandbox.workers()}")


def test_a_daemon_in_another_namespace_leaves_this_one_alone(
    serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve("namespaces", "--workers", "2", "--load", f"udf={udf('hello')}")
    wait_until(lambda: sandbox.stats("udf")["ready"] == 2, lambda: "not ready")
    own, workers = groups(sandbox.process.pid), sandbox.workers()
    other = tmp_path / "other"
    argv = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", program()]
    with (tmp_path / "log").open("wb") as log:
        stranger = subprocess.Popen(
            [*argv, "serve", "--mode", "none", "--socket", str(other)], stdout=log, stderr=log
        )
    try:
        wait_until(
            lambda: other.exists() or stranger.poll() is not None,
            lambda: (tmp_path / "log").read_text(),
        )
        assert groups(sandbox.process.pid) == own and sandbox.workers() == workers
        limits = [each for group in own for each in group.glob("*/pids.max")]
        assert {each.read_text() for each in limits} == {"16\n"}
        assert sandbox.call("udf")
        wait_until(lambda: sandbox.stats("udf")["ready"] == 2, lambda: "not refilled")
    finally:
        stranger.kill()
        stranger.wait()


def test_workers_that_never_get_ready_leave_nothing(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    before, rounds = leavings(tmp_path), 3 if mode == "gvisor" else 12
    sandbox = serve(mode)
    for _ in range(rounds):
        sandbox.load("udf", udf("hello"), "--workers", "2")
        # Others are on their way to take the places of these when the binary is unloaded.
        for _ in range(2):
            sandbox.call("udf")
        sandbox.unload("udf")
    assert sandbox.stop() == 0
    assert leavings(tmp_path) == before


@pytest.mark.timeout(0 if SOAK else 300)
def test_many_calls_leak_nothing(mode: str, serve: Callable[..., Sandbox], tmp_path: Path) -> None:
    sandbox = serve(mode, "--workers", "2", "--load", f"udf={udf('hello')}")
    first, calls = (4, CALLS_SLOW) if mode in SLOW else (20, CALLS)
    calls = SOAK or calls
    # The daemon's first calls start threads and grow tables.
    for _ in range(first):
        sandbox.call("udf")
    wait_until(lambda: sandbox.stats("udf")["ready"] == 2, lambda: "not refilled")
    before, others = holdings(sandbox), leavings(tmp_path)
    resident = resident_kb(sandbox)
    for _ in range(calls):
        sandbox.call("udf")
    wait_until(lambda: sandbox.stats("udf")["ready"] == 2, lambda: "not refilled")
    # Connections, and processes beside the workers, end a moment after their calls.
    wait_until(
        lambda: all(count <= before[kind] for kind, count in holdings(sandbox).items()),
        lambda: f"{holdings(sandbox)}, {before} before",
    )
    assert leavings(tmp_path) == others
    assert resident_kb(sandbox) < resident + 2048
    stats = sandbox.stats("udf")
    assert stats["ok"] == calls + first
    assert stats["started"] - stats["reaped"] == 2
