"""The queue harness counts each task once, measures what it is asked to, and refuses what it
cannot do."""

import http.client
import json
import subprocess
import sys

import pytest
from benches import answered
from caches import QUEUES

from tare.lab.paths import ROOT

pytestmark = pytest.mark.contract
PROGRAM = ROOT / "experiments" / "cache" / "harness.py"
SPEC = {
    "schema": 1, "path": "/harness", "depths": [1, 8], "work": "sleep", "task_us": 0,
    "warmup_s": 0.02, "duration_s": 0.1,
}  # fmt: skip


@pytest.fixture
def site(start, request):
    return start(request.param, study="queue", pool="2")


def ask(site, query: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(site.host, site.port["status"], timeout=30)
    connection.request("GET", f"/harness?{query}")
    answer = connection.getresponse()
    return answer.status, answer.read()


def run(spec: dict, folder) -> "subprocess.CompletedProcess[str]":
    file = folder / "spec.json"
    file.write_text(json.dumps(spec))
    argv = [sys.executable, PROGRAM, "--spec", file]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("site", ["threads", *QUEUES], indirect=True)
def test_each_task_runs_and_comes_back_once(site, tmp_path):
    before = site.hooks.counters(site)
    done = run(SPEC | {"address": f"{site.host}:{site.port['status']}"}, tmp_path)
    assert done.returncode == 0, done.stderr
    *events, result = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events] == ["measure", "measured"]
    assert result["errors"] == {"refused": 0, "wrong": 0}
    found = result["outcomes"]
    for depth in (1, 8):
        # Too few tasks on a busy machine have no p99.
        assert 0 < found[f"trip_p50_us_{depth}"] <= (found[f"trip_p99_us_{depth}"] or float("inf"))
        assert found[f"tasks_per_second_{depth}"] > 0 < found[f"cpu_us_{depth}"]
    site.hooks.audit(site, before, site.hooks.counters(site), answered(**result))


@pytest.mark.parametrize("site", ["mutex"], indirect=True)
@pytest.mark.parametrize("work", ["sleep", "burn"])
def test_a_task_takes_what_it_is_asked_to(site, work):
    status, body = ask(site, f"depth=2&ns=2000000&work={work}&warmup_ms=0&ms=100")
    found = json.loads(body)
    assert status == 200 and found["tasks"] > 0 and found["wrong"] == 0
    assert found["run_ns"] >= 2_000_000 and found["p50_ns"] >= 2_000_000 * 0.999
    # Who sleeps uses no CPU to speak of, who burns all of what the task is.
    assert (found["cpu_ns"] / found["tasks"] >= 1_900_000) == (work == "burn")


@pytest.mark.parametrize("site", ["ck"], indirect=True)
@pytest.mark.parametrize(
    "query", ["", "depth=0&ns=0&work=burn&warmup_ms=0&ms=1", "depth=1&ns=0&warmup_ms=0&ms=1",
              "depth=99999&ns=0&work=burn&warmup_ms=0&ms=1", "depth=1&ns=-1&work=burn&ms=1"],
)  # fmt: skip
def test_a_question_that_makes_no_sense_is_refused(site, query):
    assert ask(site, query)[0] == 400


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"work": "rest"}, "work: found 'rest'"),
        ({"more": 1}, "expected"),
        ({"schema": 2}, "schema"),
    ],
)
def test_a_spec_that_cannot_be_used(tmp_path, change, why):
    done = run(SPEC | {"address": "127.0.0.1:1"} | change, tmp_path)
    assert done.returncode == 2 and why in done.stderr


def test_a_cache_that_does_not_answer(tmp_path):
    done = run(SPEC | {"address": "127.0.0.1:1"}, tmp_path)
    assert done.returncode == 1 and "http://127.0.0.1:1/harness" in done.stderr
