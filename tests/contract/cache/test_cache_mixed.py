"""The original's load: hits are counted, held against the origin's count, and told."""

import json
import os
import subprocess
import sys

import pytest
from asking import get, right
from benches import answered

from tare.lab.paths import ROOT
from tare.lab.project.hooks import Answered, OracleError

pytestmark = pytest.mark.contract


@pytest.fixture
def site(start, request):
    return start("threads", {"mixed_count": 4}, study="mixed", hits=request.param)


def counted(site) -> dict[str, int]:
    found: dict[str, int] = site.hooks.counters(site)
    return found


def came(requests: int) -> Answered:
    """What the load generator says of so many answers."""
    errors = {"status": 0, "body": 0}
    return answered(total={"requests": requests, "errors": errors})


@pytest.mark.parametrize("site", ["90"], indirect=True)
def test_hits_and_misses_are_counted_as_they_are(site):
    before = counted(site)
    sizes = {"/10k/mixed-1": 10_240, "/1m/mixed-2": 1 << 20, "/100k/once-1": 102_400}
    for path, size in sizes.items():
        assert get(site, path) == right(path, size)
    after = counted(site)
    names = ("served", "hits", "served_bytes", "hit_bytes")
    moved = {name: after[name] - before[name] for name in names}
    cached = 10_240 + (1 << 20)
    assert moved == {
        "served": 3, "hits": 2, "served_bytes": cached + 102_400, "hit_bytes": cached,
    }  # fmt: skip
    site.hooks.audit(site, before, after, came(3))
    with pytest.raises(OracleError, match="counted 3 answers, expected 5"):
        site.hooks.audit(site, before, after, came(5))
    with pytest.raises(OracleError, match="expected 2, the misses"):
        site.hooks.audit(site, before, after | {"hits": after["hits"] - 1}, came(3))


@pytest.mark.parametrize("site", ["100"], indirect=True)
def test_a_full_cache_must_not_ask_its_origin(site):
    before = counted(site)
    get(site, "/10k/mixed-1")
    site.hooks.audit(site, before, counted(site), came(1))
    before = counted(site)
    get(site, "/10k/once-1")
    with pytest.raises(OracleError, match="1 requests went to the origin"):
        site.hooks.audit(site, before, counted(site), came(2))


def test_it_is_measured_by_the_command_line(tmp_path):
    argv = [
        sys.executable, "-m", "tare", "run", "cache/mixed", "--variants", "nowait-uring-open",
        "--scenarios", "popularity=zipf,hits=90", "--blocks", "1", "--duration", "1",
        "-p", "warmup_s=0.5", "-p", "mixed_count=20",
    ]  # fmt: skip
    environment = os.environ | {"TARE_RUNS": str(tmp_path)}
    # On a busy machine perhaps no trial counts; then the exit code is 1, and the status says so.
    done = subprocess.run(
        argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    (file,) = tmp_path.glob("*/trials.jsonl")
    trials = [json.loads(line) for line in file.read_text().splitlines()]
    assert {trial["label"] for trial in trials} >= {"threads", "nowait-uring-open"}, done.stderr
    for trial in trials:
        assert trial["status"] in ("valid", "invalid"), trial["reason"]
        found = trial["outcomes"]
        assert 50 < found["object_hits"] < 100 and 50 < found["byte_hits"] < 100
        assert found["requests_per_second"] > 0 and found["mb_per_s"] > 0
        assert found["connect_p50_us"] > 0 and 0 < found["ttfb_p50_us"] <= found["latency_p50_us"]
        assert found["small_p50_us"] > 0 and found["large_p50_us"] > 0
