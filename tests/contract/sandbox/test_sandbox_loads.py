"""The instrument that measures loading: its events, and what it does not let pass."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sandboxes import Sandbox, as_it_runs, program, udf

from tare.model.trial import Trial

SHORT = {"schema": 1, "workers": 1, "warmup_s": 0.05, "duration_s": 0.2}


def loads(folder: Path, **spec: Any) -> "subprocess.CompletedProcess[str]":
    file = folder / "spec.json"
    file.write_text(json.dumps(SHORT | spec))
    argv = [program(), "loads", "--spec", str(file)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


def test_binaries_are_loaded_in_every_mode(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('hello')}")
    file = as_it_runs(mode, str(udf("hello")))
    done = loads(tmp_path, socket=sandbox.socket, binary=file)
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
    other = loads(tmp_path, socket=sandbox.socket, binary=str(udf("sieve")))
    assert other.returncode == 1 and "what was loaded answers" in other.stderr
    sandbox.unload("loaded")
    nothing = loads(tmp_path, socket=sandbox.socket, binary="/etc/passwd")
    assert nothing.returncode == 1 and "load: " in nothing.stderr


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
    done = loads(tmp_path, **spec)
    assert done.returncode == 2 and said in done.stderr


def test_a_trial_of_loading_has_its_time(trial: Callable[..., Trial]) -> None:
    made = trial("none", call="load", load="alone", workers="1")
    assert made.status in ("valid", "invalid"), made.reason
    assert made.outcomes["load_us"] == made.instrument["outcomes"]["latency_mean_us"] > 0
