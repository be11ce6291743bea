"""A run's results as Google Benchmark's own tools take them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from laboratory import Laboratory

from tare.lab.project import requirements
from tare.model.fields import Requirement

pytestmark = pytest.mark.system
COMPARE = "/usr/share/benchmark/compare.py"


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    requirements.meet([Requirement(debian="libbenchmark-tools")], print)


def compared(folder: Path, *arguments: str) -> tuple[str, list[dict[str, Any]]]:
    """What compare.py prints, and what it finds."""
    found = folder / "found.json"
    argv = [sys.executable, COMPARE, "--no-color", "-d", str(found), *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads(found.read_text())


def test_compare_py_reads_what_a_run_leaves(
    lab: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.json"
    monkeypatch.setenv("BENCHMARK_OUT", str(out))
    short = ("--duration", "0.1", "-p", "warmup_s=0")
    with lab.start("run", "toy", "--variants", "slow", "--blocks", "9", *short) as run:
        run.communicate(timeout=120)
    # 1 if the control raises an alarm, which a busy machine may cause.
    assert run.returncode in (0, 1) and lab.results()["complete"]
    (written,) = lab.tare("export", "last", "--format", "google-benchmark").split()
    assert out.read_text() == Path(written).read_text()
    sides = ("BM_Answer/mode:plain", "BM_Answer/mode:slow")
    printed, found = compared(tmp_path, "filters", str(out), *sides)
    assert f"[{sides[0]} vs. {sides[1]}]_pvalue" in printed
    assert "U Test, Repetitions: 9 vs 9" in printed and "WARNING" not in printed
    for side, key in zip(("plain", "slow"), ("real_time", "real_time_other"), strict=True):
        trials = [trial for trial in lab.trials() if trial.label == side]
        assert [each[key] for each in found[0]["measurements"]] == pytest.approx(
            [trial.outcomes["latency_mean_us"] for trial in trials]
        )
    _, same = compared(tmp_path, "benchmarks", str(out), str(out))
    names = {each["name"] for each in same if each["name"] != "OVERALL_GEOMEAN"}
    assert names == {*sides, "BM_Answer/mode:control"}
    assert all(one["time"] == one["cpu"] == 0 for each in same for one in each["measurements"])


def test_a_format_that_nobody_writes_is_refused_before_the_run(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHMARK_OUT", "out.csv")
    monkeypatch.setenv("BENCHMARK_OUT_FORMAT", "csv")
    text = lab.tare("run", "toy", "--quick", code=2)
    assert "BENCHMARK_OUT_FORMAT: found 'csv', expected 'json'" in text
    assert not list(lab.runs.glob("*"))
