"""The daemon's own instruments: their events, and what they do not let pass."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sandboxes import Sandbox, as_it_runs, program, udf

from tare.model.trial import Trial

SHORT = {"schema": 1, "workers": 1, "warmup_s": 0.1, "duration_s": 0.2}


def measured(
    folder: Path, command: str = "loads", **spec: Any
) -> "subprocess.CompletedProcess[str]":
    file = folder / "spec.json"
    file.write_text(json.dumps(SHORT | spec))
    argv = [program(), command, "--spec", str(file)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


def test_binaries_are_loaded_in_every_mode(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('hello')}")
    file = as_it_runs(mode, str(udf("hello")))
    done = measured(tmp_path, socket=sandbox.socket, binary=file)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [event["event"] for event in events if event["event"] != "progress"]
    assert kinds == ["measure", "measured", "result"]
    result = events[-1]
    found = result["outcomes"]
    assert 0 < found["requests"] < result["total"]["requests"] and result["errors"] == {}
    assert found["requests_per_second"] == pytest.approx(found["requests"] / result["window_s"])
    assert 0 < found["latency_mean_us"] <= found["latency_max_us"] < result["window_s"] * 1e6
    assert set(json.loads(sandbox.cli("stats").stdout)["handles"]) == {"udf"}, "all are unloaded"
    assert sandbox.stats("udf")["ok"] == 1


def test_what_answers_wrong_or_cannot_be_loaded_ends_it(
    serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve("none", "--workers", "1", "--load", f"udf={udf('hello')}")
    other = measured(tmp_path, socket=sandbox.socket, binary=str(udf("sieve")))
    assert other.returncode == 1 and "what was loaded answers" in other.stderr
    sandbox.unload("loaded")
    nothing = measured(tmp_path, socket=sandbox.socket, binary="/etc/passwd")
    assert nothing.returncode == 1 and "load: " in nothing.stderr


def test_workers_that_are_not_ready_in_time_are_counted(
    serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve("none", "--workers", "1")
    spec = {"binary": str(udf("hello")), "workers": 100, "warmup_s": 0.0}
    done = measured(tmp_path, "idle", socket=sandbox.socket, **spec)
    assert done.returncode == 1 and "workers are ready after warmup_s, expected 100" in done.stderr


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"socket": "s", "binary": "b", "wrokers": 1}, "unknown field `wrokers`"),
        ({"socket": "s"}, "missing field `binary`"),
        ({"socket": "s", "binary": "b", "duration_s": -1}, "duration_s: found -1, expected"),
        ({"socket": "s", "binary": "b", "schema": 2}, "schema: found 2, expected 1"),
    ],
)
def test_a_spec_that_it_cannot_use_is_named(
    tmp_path: Path, spec: dict[str, Any], said: str
) -> None:
    done = measured(tmp_path, **spec)
    assert done.returncode == 2 and said in done.stderr


def test_workers_wait_until_the_instrument_is_started_again(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('hello')}")
    file = as_it_runs(mode, str(udf("hello")))
    for workers in (3, 2):
        spec = {"workers": workers, "warmup_s": 30}
        done = measured(tmp_path, "idle", socket=sandbox.socket, binary=file, **spec)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["event"] == "result" and result["outcomes"]["requests"] == 0
        assert sandbox.stats("loaded")["ready"] == workers


def test_a_trial_of_ready_workers_has_their_memory(trial: Callable[..., Trial]) -> None:
    # There it is the most that is waited for workers.
    made = trial("none", "memory", warmup_s=20.0)
    assert made.status in ("valid", "invalid"), made.reason
    doses = {window["dose"] for window in made.instrument["slope"]["windows"]}
    # A gate that others on the machine close ends it before the last dose.
    assert doses <= {1, 10, 25, 50}
    if made.status == "valid":
        assert 4096 < made.outcomes["worker_bytes"] < 4 << 20


def test_a_trial_of_loading_has_its_time(trial: Callable[..., Trial]) -> None:
    made = trial("none", "loading", workers="1")
    assert made.status in ("valid", "invalid"), made.reason
    assert made.outcomes["load_us"] == made.instrument["outcomes"]["latency_mean_us"] > 0
