"""Each gate fires on what it is there for, made on purpose, and not without it."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tare.model.trial import Trial

pytestmark = [pytest.mark.contract, pytest.mark.alone]


def refused(found: Trial) -> set[str]:
    """Names of the gates that refused it, without the percentile."""
    return {
        gate.name.removesuffix("-p50").removesuffix("-p99") for gate in found.gates if not gate.ok
    }


def test_errors(trial: Callable[..., Trial]) -> None:
    found = trial(error_every=50)
    assert "errors" in refused(found) and "status " in (found.reason or "")


def test_a_rate_that_the_server_cannot_hold(trial: Callable[..., Trial]) -> None:
    # Two milliseconds of CPU for each of a thousand requests a second: they are answered late, or
    # not at all.
    assert refused(trial(delay_us=2000)) & {"achieved", "little"}


def test_other_work_on_the_cpus(trial: Callable[..., Trial]) -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as other:
        try:
            assert "foreign-cpu" in refused(trial())
        finally:
            other.kill()


@contextmanager
def halting(folder: Path) -> Iterator[None]:
    """Stop the generator of a trial in this folder for 10 of every 15 ms."""
    done = threading.Event()

    def halt() -> None:
        pids: list[int] = []
        while not done.is_set():
            pids = pids or generators(folder)
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGSTOP)
                    time.sleep(0.01)
                    os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:
                    return
            time.sleep(0.005)

    thread = threading.Thread(target=halt)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def generators(folder: Path) -> list[int]:
    """Processes that were given a spec in the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if "tare-load" in command and str(folder) in command:
            found.append(int(process.name))
    return found


def test_a_generator_that_is_late(trial: Callable[..., Trial], tmp_path: Path) -> None:
    with halting(tmp_path):
        assert "send-lag" in refused(trial())


def test_a_generator_that_loses_time_in_a_duel(
    duel: Callable[..., tuple[Trial, Trial]], tmp_path: Path
) -> None:
    for _ in range(5):  # what halts it may itself be kept from the CPUs
        with halting(tmp_path):
            sides = duel(duration_s=1.0)
        if all("slices" in refused(side) for side in sides):
            return
    pytest.fail(f"it never fired: {sides[0].gates}")
