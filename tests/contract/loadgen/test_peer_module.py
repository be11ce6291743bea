"""peer.py: a peer's run as the laboratory sees it, with programs of sh in the peer's place."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from adapters import loaded

ADAPTER = """
from peer import Answer, Spec, Unfit, main

def command(spec):
    if spec.depth != 1:
        raise Unfit("found a depth of 2, expected 1")
    return ["sh", "-c", spec.program]

def parse(output):
    return Answer(**eval(output))

main("fake", command, parse)
"""
UNTIL_MEASURED = "until [ -e measured ]; do sleep 0.02; done"
GOOD = "dict(rate=200.0, answered=100, errors={})"


def run(tmp_path: Path, program: str, **fields: object):
    (tmp_path / "adapter.py").write_text(ADAPTER)
    spec = {
        "program": program,
        "protocol": "h1",
        "url": "http://127.0.0.1:1/",
        "connections": 1,
        "depth": 1,
        "threads": 1,
        "warmup_s": 0.1,
        "duration_s": 0.2,
    } | fields
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    with subprocess.Popen(
        [sys.executable, tmp_path / "adapter.py", "--spec", tmp_path / "spec.json"],
        env=os.environ | {"PYTHONPATH": str(loaded.folder)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        events = []
        for line in process.stdout:
            events.append(json.loads(line))
            if events[-1]["event"] == "measured":
                (tmp_path / "measured").touch()
        complaints = process.stderr.read()
    return process.returncode, events, complaints


def test_a_run_tells_of_its_window_and_then_its_result(tmp_path):
    code, events, _ = run(tmp_path, f"{UNTIL_MEASURED}; echo '{GOOD}'")
    assert code == 0
    measure, measured, result = events
    assert [measure["event"], measured["event"]] == ["measure", "measured"]
    assert measure["t_s"] >= 0.1
    assert result["window_s"] == pytest.approx(measured["t_s"] - measure["t_s"])
    assert result["window_s"] >= 0.2
    assert result["outcomes"]["requests"] == pytest.approx(200 * result["window_s"])
    assert result["outcomes"]["requests_per_second"] == 200
    assert result["total"]["requests"] == 100
    assert set(result["errors"]) == {"connect", "read", "write", "status", "body", "timeout"}


def test_wrong_statuses_are_errors_and_no_requests(tmp_path):
    answer = "dict(rate=200.0, answered=100, errors=dict(status=25))"
    code, (*_, result), _ = run(tmp_path, f"{UNTIL_MEASURED}; echo '{answer}'")
    assert code == 0
    assert result["outcomes"]["requests_per_second"] == 150
    assert (result["errors"]["status"], result["total"]["requests"]) == (25, 100)


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("echo oops", "before its window did: oops"),
        ("exit 3", "before its window did: it printed nothing"),
        (f"{UNTIL_MEASURED}; echo oops; exit 3", "ended with 3: oops"),
        (
            UNTIL_MEASURED + "; echo 'dict(rate=0.0, answered=0, errors={})'",
            "no answer from the server",
        ),
        (
            UNTIL_MEASURED + "; echo 'dict(rate=1.0, answered=1, errors={}, protocol=\"h2\")'",
            "h2 was negotiated, expected h1",
        ),
    ],
)
def test_a_run_that_is_none_says_why(tmp_path, program, sentence):
    code, events, stderr = run(tmp_path, program)
    assert code == 1
    assert sentence in stderr and stderr.startswith("fake: ") and stderr.count("\n") == 1
    assert all(event["event"] != "result" for event in events)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"depth": 2}, "found a depth of 2, expected 1"),
        ({"url": None}, "spec: url: found None, expected str"),
        ({"warmup_s": "1"}, "spec: warmup_s: found '1', expected float"),
    ],
)
def test_a_spec_that_it_cannot_do_is_refused(tmp_path, fields, sentence):
    code, events, stderr = run(tmp_path, "true", **fields)
    assert (code, events) == (2, [])
    assert sentence in stderr


def test_a_peer_that_cannot_be_started_is_named(tmp_path):
    code, _, stderr = run(tmp_path, "/nonexistent/peer")
    assert code == 1 and "before its window did" in stderr
