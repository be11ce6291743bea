"""Several load generators against one server: one result of all, and the late one by its name."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tare.lab.trial.measure import MEASURING
from tare.model.trial import Trial

pytestmark = pytest.mark.contract


def test_two_generators_make_the_load_of_one(trial: Callable[..., Trial]) -> None:
    found = trial(generators=2, connections=5, rate=1001, duration_s=2.0)
    assert found.status != "failed", f"the audit counts the requests of both: {found.reason}"
    whole, several = found.instrument, found.instrument["generators"]
    one, two = several["each"]["load-1"], several["each"]["load-2"]
    assert (one["load"]["connections"], two["load"]["connections"]) == (3, 2)
    assert one["load"]["rate"] + two["load"]["rate"] == whole["load"]["rate"] == 1001
    assert one["window_s"] == two["window_s"] == whole["window_s"]
    for figure in ("offered", "completed", "unfinished"):
        assert one["load"][figure] + two["load"][figure] == whole["load"][figure]
    assert one["statuses"]["200"] + two["statuses"]["200"] == whole["statuses"]["200"]
    for name in ("latency_p50_us", "send_lag_p50_us", "latency_mean_us"):
        parts = sorted(each["outcomes"][name] for each in (one, two))
        assert parts[0] <= whole["outcomes"][name] <= parts[1]
    p99 = found.outcomes["latency_p99_us"]
    assert p99 is not None and p99 <= whole["outcomes"]["latency_max_us"]
    used = found.roles["load-1"]["cpu_us"], found.roles["load-2"]["cpu_us"]
    assert min(used) > 0 and found.roles["sut"]["cpu_us"] > 0


def given(file: Path) -> int:
    """Return the process that was given a file as its last argument."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cmdline").read_bytes().endswith(b"\0%s\0" % bytes(file)):
                return int(process.name)
    raise AssertionError(f"no process was given {file}")


@contextmanager
def stopping(folder: Path, spec: str, seconds: float) -> Iterator[None]:
    """Stop the generator that was given the file `spec`, from the opening of its window on."""
    over = threading.Event()

    def stop() -> None:
        while not list(folder.glob(f"*/{MEASURING}")):
            if over.wait(0.002):
                return
        pid = given(next(folder.rglob(spec)))
        os.kill(pid, signal.SIGSTOP)
        over.wait(seconds)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=stop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_the_one_of_two_that_lags_is_named(trial: Callable[..., Trial], tmp_path: Path) -> None:
    # More connections than requests: whatever it sends late is late by its own doing.
    with stopping(tmp_path, "load-2.json", seconds=1.5):
        found = trial(generators=2, connections=400, rate=100, warmup_s=1.0, duration_s=2.0)
    assert found.status == "invalid", found.reason
    (lag,) = [gate for gate in found.gates if gate.name == "send-lag-p50-load-2"]
    assert not lag.ok, lag.found
    assert "send-lag-p50-load-2: " in str(found.reason)
