"""The figures of `stats` and `watch`: requests are requests alone, and amounts have no rate."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tare.cli.readings import Reading, lines, rates, reading
from tare.lab.errors import RoleError, TareError
from tare.lab.machine.proc import start_time
from tare.lab.project import catalog
from tare.lab.run.instances import Instance
from tare.lab.run.store import write_json
from tare.model.manifest import Counters
from tare.probes.machine import machine_cpu


def _reading(at: float, counters: dict[str, int], kinds: Counters) -> Reading:
    return Reading(at, {}, {}, counters, kinds, machine_cpu())


def _seen(kinds: Counters, first: dict[str, int], last: dict[str, int]) -> list[str]:
    found = rates("a/b", _reading(1, first, kinds), _reading(3, last, kinds))
    return list(lines(found))


def test_requests_are_those_that_the_manifest_names() -> None:
    kinds = Counters(requests=["ok", "failed"])
    first, *_, ok, shared, failed = _seen(
        kinds, {"ok": 0, "shared": 0, "failed": 0}, {"ok": 100, "shared": 100, "failed": 20}
    )
    assert first == "a/b: 60 requests/s"
    assert (ok.split(), shared.split(), failed.split()) == (
        ["ok", "100", "(50/s)"],
        ["shared", "100", "(50/s)"],
        ["failed", "20", "(10/s)"],
    )


def test_counters_that_are_no_requests_make_none() -> None:
    first, *_ = _seen(Counters(), {"posted": 0}, {"posted": 1000})
    assert first == "a/b: it counts no requests"


def test_an_amount_has_no_rate() -> None:
    kinds = Counters(gauges=["*_max*", "open"])
    *_, depth, opened = _seen(kinds, {"depth_max": 9, "open": 4}, {"depth_max": 7, "open": 40})
    assert (depth.split(), opened.split()) == (["depth_max", "7"], ["open", "40"])


@pytest.mark.parametrize(
    ("experiment", "counted", "rate"),
    [
        ("cache", {"posted": 5.0, "completed": 5.0, "asked": 3.0}, None),
        ("cache", {"posted": 5.0, "served": 7.0, "hits": 6.0}, 7.0),
        ("sandbox", {"ok": 8.0, "shared": 8.0, "failed": 1.0}, 9.0),
        ("filters", {"accepted": 8.0, "rejected": 1.0}, 9.0),
        ("filters", {"requests": 4.0}, 4.0),
        ("echo", {"requests": 4.0, "messages": 4.0, "bytes": 400.0}, 4.0),
        ("proxies", {"requests": 4.0, "connections": 1.0}, 4.0),
        ("loadgen", {"requests": 4.0, "connections": 1.0, "strange": 0.0}, 4.0),
    ],
)
def test_each_experiment_counts_its_requests_once(
    experiment: str, counted: dict[str, float], rate: float | None
) -> None:
    assert catalog.load(experiment).experiment.counters.answered(counted) == rate


def test_marks_and_amounts_of_experiments_are_gauges() -> None:
    cache = catalog.load("cache").experiment.counters
    echo = catalog.load("echo").experiment.counters
    assert cache.is_gauge("depth_max") and cache.is_gauge("wait_max_ns")
    assert not cache.is_gauge("posted")
    assert echo.is_gauge("connections") and echo.is_gauge("messages_per_second_now")
    assert not echo.is_gauge("messages")


def test_a_counter_that_came_between_has_an_amount_and_no_rate() -> None:
    kinds = Counters(requests=["ok", "failed"])
    first, *_, failed = _seen(kinds, {"ok": 0}, {"ok": 100, "failed": 20})
    assert first == "a/b: 50 requests/s"
    assert failed.split() == ["failed", "20"]


@pytest.fixture
def up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    """A variant of two roles: this process, and one that has ended."""
    monkeypatch.setenv("TARE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Instance, "counters", lambda _: ({}, Counters()))
    child = subprocess.Popen(["sleep", "60"])
    running = {"sut": os.getpid(), "backend": child.pid}
    log = tmp_path / "backend.log"
    log.write_text("out of luck\n")
    roles = {
        name: {
            "pid": pid, "start": start_time(pid), "stop_signal": "TERM", "stop_timeout_s": 1.0,
            "kind": "none", "groups": {}, "log": log,
        }
        for name, pid in running.items()
    }  # fmt: skip
    child.kill()
    child.wait()
    fields: dict[str, Any] = {
        "experiment": "a", "study": "s", "variant": "b", "started": "now", "overrides": {},
        "parameters": {}, "properties": {}, "host": "127.0.0.1", "address": {}, "port": {},
        "tag": "t", "folder": tmp_path, "roles": roles, "try_lines": [],
    }  # fmt: skip
    made = Instance.model_validate(fields)
    state = tmp_path / "cache" / "up" / "a" / "b" / "state.json"
    state.parent.mkdir(parents=True)
    write_json(state, made)
    return made


def test_a_role_that_has_ended_has_no_figures(up: Instance) -> None:
    with pytest.raises(RoleError) as caught:
        reading(up)
    first, second = str(caught.value).split("\n")
    assert first == "a/b: role backend has ended, though nobody took it down: out of luck"
    assert second == "tare logs a/b shows more, tare restart a/b starts it again"
    alive = up.model_copy(update={"roles": {"sut": up.roles["sut"]}})
    assert set(reading(alive).cpu) == {"sut"}


def test_counters_that_fail_do_not_hide_that_a_role_has_ended(
    up: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Instance) -> None:
        raise TareError("counters: ConnectionRefusedError")

    monkeypatch.setattr(Instance, "counters", refused)
    with pytest.raises(RoleError, match="role backend has ended"):
        reading(up)
    alive = up.model_copy(update={"roles": {"sut": up.roles["sut"]}})
    with pytest.raises(TareError, match="ConnectionRefusedError"):
        reading(alive)


def test_what_was_taken_down_meanwhile_has_not_ended_by_itself(
    up: Instance, tmp_path: Path
) -> None:
    (tmp_path / "cache" / "up" / "a" / "b" / "state.json").unlink()
    with pytest.raises(TareError, match="a/b was taken down meanwhile"):
        reading(up)
