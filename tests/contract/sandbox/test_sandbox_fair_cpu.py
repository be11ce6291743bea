"""With --fair-cpu each binary has a control group of its own, all of which weigh the same."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sandboxes import Sandbox, groups, udf, wait_until

WORKERS = 3
WEIGHTS = ("cpu.shares", "cpu.weight")
"""Of version 1 and of version 2."""


def shares(sandbox: Sandbox) -> dict[Path, int]:
    """The weight of each group of the daemon that is a binary's."""
    found = [group for group in groups(sandbox.process.pid) if group.name.startswith("tare-")]
    below = [binary for group in found for binary in group.glob("binary-*")]
    return {binary: weight(binary) for binary in below}


def weight(group: Path) -> int:
    [file] = [group / name for name in WEIGHTS if (group / name).exists()]
    return int(file.read_text())


def processes(group: Path) -> set[int]:
    """Those in the group and below it."""
    files = [group / "cgroup.procs", *group.glob("*/cgroup.procs")]
    return {int(pid) for file in files for pid in file.read_text().split()}


@pytest.mark.parametrize("mode", ["namespaces", "landlock"], indirect=True)
def test_each_binary_weighs_the_same(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--fair-cpu")
    # What a mode is tried with has gone again.
    wait_until(lambda: not shares(sandbox), lambda: f"left: {shares(sandbox)}")
    for name, workers in (("many", WORKERS), ("one", 1)):
        sandbox.load(name, udf("hello"), "--workers", str(workers))
    found = shares(sandbox)
    assert len(found) == 2 and len(set(found.values())) == 1
    [parent] = {binary.parent for binary in found}
    # As much as so many processes, one a CPU.
    own = next(iter(found.values()))
    assert weight(parent) >= own and weight(parent) % own == 0
    wait_until(lambda: sandbox.stats("many")["ready"] == WORKERS, lambda: "not ready")
    # A process for each worker at least, and each in the group of its binary.
    counts = sorted(len(processes(binary)) for binary in found)
    assert counts[0] >= 1 and counts[1] >= WORKERS
    for name in ("many", "one"):
        sandbox.call(name)
    sandbox.unload("many")
    wait_until(lambda: len(shares(sandbox)) == 1, lambda: f"left: {shares(sandbox)}")
    assert sandbox.stop() == 0
    assert not groups(sandbox.process.pid)


@pytest.mark.parametrize("mode", ["namespaces"], indirect=True)
def test_what_a_killed_daemon_leaves_is_taken_away(
    mode: str, serve: Callable[..., Sandbox]
) -> None:
    killed = serve(mode, "--fair-cpu", "--load", f"hello={udf('hello')}")
    assert shares(killed)
    below = killed.workers()
    killed.kill()
    wait_until(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in below),
        lambda: f"processes are left: {below}",
    )
    # Also by one that shares nothing.
    serve(mode)
    assert not shares(killed)


@pytest.mark.parametrize("mode", ["namespaces"], indirect=True)
def test_nothing_is_shared_unless_it_is_asked_for(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--load", f"hello={udf('hello')}")
    assert not shares(sandbox)


@pytest.mark.parametrize("mode", ["wasm"], indirect=True)
def test_a_mode_without_processes_says_so(mode: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="--fair-cpu in mode wasm: its workers are no proc"):
        Sandbox(mode, tmp_path, "--fair-cpu")
