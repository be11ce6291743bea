"""Many calls with hostile ones among them, and many killed daemons, leave nothing.

TARE_SOAK_CALLS and TARE_SOAK_KILLS say how many; `-s` prints what was seen.
"""

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from holdings import folders, holdings, leavings, resident_kb
from sandboxes import (
    Decoys,
    Refused,
    Sandbox,
    decoys,
    groups,
    named_like_workers,
    udf,
    wait_until,
)

pytestmark = [pytest.mark.contract, pytest.mark.thorough, pytest.mark.timeout(0)]
CALLS = int(os.environ.get("TARE_SOAK_CALLS", "4000"))
KILLS = int(os.environ.get("TARE_SOAK_KILLS", "20"))
CLIENTS = 4
# One call in so many is hostile.
HOSTILE = 100
ATTACKS = (
    "orphan", "fork_bomb", "crash", "memory_bomb", "shared_memory", "sibling", "babble", "plant",
    "half_response", "varint_overflow", "leave", "read_file", "other_process", "pass_descriptor",
)  # fmt: skip
LIMITS = ("--workers", "2", "--deadline-ms", "300", "--memory-mb", "32", "--cpu-s", "1")
MODES = pytest.mark.parametrize("mode", ["namespaces", "wasm", "kvm"], indirect=True)


@MODES
def test_hostile_calls_among_many_leak_nothing(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    folder = tmp_path / "decoys"
    folder.mkdir()
    sandbox = serve(mode, "--workers", "2")
    sandbox.load("udf", udf("hello"), "--workers", "4")
    sandbox.load("attack", udf("attack"), *LIMITS)
    with decoys(folder) as made:
        # The first calls start threads and grow tables.
        _calls(sandbox, made, HOSTILE * len(ATTACKS))
        _rest(sandbox)
        before, others = holdings(sandbox), leavings(tmp_path)
        resident = resident_kb(sandbox)
        ends = _calls(sandbox, made, CALLS)
        _rest(sandbox)
        wait_until(
            lambda: all(count <= before[kind] for kind, count in holdings(sandbox).items()),
            lambda: f"{holdings(sandbox)}, {before} before",
        )
        grown = resident_kb(sandbox) - resident
        print(f"\n{mode}: {CALLS} calls, {dict(ends)}, the daemon grew by {grown} KiB")
        assert leavings(tmp_path) == others
    assert grown < 2048
    assert ends["wrong"] == 0
    assert sandbox.stop() == 0
    assert groups(sandbox.process.pid) == []


def _calls(sandbox: Sandbox, made: Decoys, count: int) -> Counter[str]:
    """Let clients make so many calls together; how they ended."""

    def client(own: int) -> Counter[str]:
        ends: Counter[str] = Counter()
        for number in range(own, count, CLIENTS):
            turn, hostile = divmod(number // CLIENTS, HOSTILE)
            if hostile == 0:
                attack = ATTACKS[(turn * CLIENTS + own) % len(ATTACKS)]
                with contextlib.suppress(Refused):
                    sandbox.call("attack", made.request(attack))
                ends["hostile"] += 1
            else:
                answer = sandbox.call("udf")
                ends["right" if answer == {1: b"Hello, world!"} else "wrong"] += 1
        return ends

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(client, range(CLIENTS)), Counter())


def _rest(sandbox: Sandbox) -> None:
    """Wait until all workers are ready again."""

    def ready() -> list[int]:
        return [sandbox.stats(name)["ready"] for name in ("udf", "attack")]

    wait_until(lambda: ready() == [4, 2], lambda: f"not refilled: {ready()}")


@MODES
def test_killed_daemons_leave_nothing(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    others, workers = leavings(tmp_path), named_like_workers()
    pids, longest = [], 0.0
    for _ in range(KILLS):
        sandbox = serve(mode, "--workers", "4", "--load", f"udf={udf('hello')}")
        sandbox.call("udf")
        below = sandbox.workers()
        sandbox.process.send_signal(signal.SIGKILL)
        begun = time.monotonic()
        _wait_for_the_end(below)
        longest = max(longest, time.monotonic() - begun)
        sandbox.process.wait()
        pids.append(sandbox.process.pid)
    assert named_like_workers() <= workers
    assert leavings(tmp_path) == others
    # The last one's empty groups have no owner who could remove them; the next daemon does.
    assert serve(mode).stop() == 0
    assert [each for pid in pids for each in (*groups(pid), *folders(pid))] == []
    print(f"\n{mode}: {KILLS} daemons killed, the last process was gone after {longest:.3f} s")


def _wait_for_the_end(pids: list[int]) -> None:
    wait_until(lambda: not any(_runs(pid) for pid in pids), lambda: f"processes are left: {pids}")


def _runs(pid: int) -> bool:
    """Whether a process has not ended. Init may take its time to collect one that has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
