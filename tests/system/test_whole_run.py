"""Short runs to their end: results, failures by name, an unwelcome disk, company."""

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest
from laboratory import Laboratory

from tare.stats.blocks import planned_trials

pytestmark = pytest.mark.system
SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "results.json"
BROKEN = {
    "does-not-start": "role sut ended with exit code 1: the toy does not want to",
    "port-taken": "Address already in use",
    "crashes-midway": "role sut ended with exit code 1: the toy has had enough",
    "wrong-answers": "oracle: found b'no\\n', expected b'ok\\n'",
    "never-ready": "role sut was not ready within 0.3 s (port ",
    "silent-instrument": "instrument ended with exit code 0, but without measure, measured and",
    "loud-instrument": "the instrument printed b'hello', expected JSON",
    "ignores-term": "role sut did not end on SIGTERM within 0.3 s and was killed",
}


def test_a_run_ends_with_results_that_fit_the_schema(lab: Laboratory) -> None:
    printed = json.loads(lab.tare("run", "toy", "--quick", "--seed", "7", "--json"))
    results = lab.results()
    assert printed == results
    jsonschema.validate(results, json.loads(SCHEMA.read_text()))
    assert results["complete"] and results["seed"] == 7
    (scenario,) = results["scenarios"]
    assert {name: item["trials_valid"] for name, item in scenario["variants"].items()} == {
        "plain": 2,
        "slow": 2,
        "control": 2,
    }
    cost = scenario["variants"]["slow"]["outcomes"]["cpu_us_per_request"]
    low, high = cost["ci_pct"] or (cost["effect_pct"],) * 2
    assert low <= cost["effect_pct"] <= high and cost["blocks"] == 2
    counted = scenario["variants"]["plain"]["outcomes"]["counted"]["median"]
    assert 0.5 < counted < 2  # the two windows are not quite the same
    order = [planned.id for block in (0, 1) for planned in planned_trials(lab.plan(), block)]
    assert [trial.id for trial in lab.trials()] == order
    folder = lab.run_folder()
    assert "b00-s0-plain: begins" in (folder / "events.log").read_text()
    assert (folder / "logs" / "b00-s0-plain" / "sut.log").exists()
    assert "plain (A/A control)" in lab.tare("report")
    assert not (folder / "work").exists() and not (folder / "ballast").exists()


def test_a_broken_variant_is_a_named_failure_and_the_rest_goes_on(lab: Laboratory) -> None:
    variants = ",".join([*BROKEN, "unavailable"])
    text = lab.tare("run", "toy", "--variants", variants, "--blocks", "1", code=1)
    (scenario,) = lab.results()["scenarios"]
    found = scenario["variants"]
    for name, reason in BROKEN.items():
        assert found[name]["status"] == "failed"
        assert reason in found[name]["reason"]
        assert f"{name}: failed: " in text
    assert found["unavailable"]["status"] == "unavailable"
    assert found["unavailable"]["reason"] == "/no/such/device is not there: buy one"
    assert found["plain"]["status"] == found["control"]["status"] == "measured"
    assert lab.results()["complete"]


def test_a_run_that_cannot_be_meant_is_refused_before_it_begins(lab: Laboratory) -> None:
    text = lab.tare("run", "toy", "--quick", "-p", "spin=no", code=2)
    assert "parameter spin: found 'no', expected a whole number" in text
    assert not list(lab.runs.glob("*"))


def test_a_dry_run_says_what_it_would_measure_and_makes_nothing(lab: Laboratory) -> None:
    text = lab.tare("run", "toy", "--quick", "--dry-run")
    assert "toy/cost: 2 variants, 1 scenario, 6 trials, about " in text
    assert "verdicts   none: 2 blocks cannot show a difference among" in text
    (made,) = json.loads(lab.tare("run", "toy", "--quick", "--dry-run", "--json"))
    assert made["variants"] == ["plain", "slow"] and made["estimate"]["trials"] == [6, 6]
    assert not list(lab.runs.glob("*"))


def test_two_runs_at_once_do_not_disturb_each_other(lab: Laboratory) -> None:
    commands = [lab.start("run", "toy", "--quick", "--seed", str(seed)) for seed in (1, 2)]
    for command in commands:
        with command:
            _, errors = command.communicate(timeout=100)
        assert command.returncode == 0, errors
    plans = sorted(lab.runs.glob("*/plan.json"))
    assert sorted(json.loads(plan.read_text())["seed"] for plan in plans) == [1, 2]
    for plan in plans:
        assert json.loads((plan.parent / "results.json").read_text())["complete"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
@pytest.mark.parametrize("kib", [600, 1040])
def test_a_full_disk_is_told_in_a_sentence(lab: Laboratory, kib: int) -> None:
    lab.runs.mkdir()
    size = f"size={kib}k"
    mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(lab.runs)]
    if subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        text = lab.tare("run", "toy", "--quick", code=1)
        assert "No space left on device" in text
        lab.assert_nothing_left()
    finally:
        subprocess.run(["umount", "--lazy", str(lab.runs)], check=True)


@pytest.mark.parametrize("study", ["toy", "toy/duel"])
def test_what_the_machine_spoilt_is_made_again(lab: Laboratory, study: str) -> None:
    text = lab.tare("run", study, "--variants", "short-of-machine", "--blocks", "1", code=1)
    assert "a fault of the machine: role holder ended with exit code 75" in text
    spoilt = [trial for trial in lab.trials() if trial.label == "short-of-machine"]
    assert [trial.attempt for trial in spoilt] == [1, 2, 3], "repeated as if a gate had refused it"
    assert {trial.status for trial in spoilt} == {"invalid"}
    assert not lab.results()["complete"]
    (lab.run_folder() / "mended").touch()
    lab.tare("resume")
    (scenario,) = lab.results()["scenarios"]
    assert scenario["variants"]["short-of-machine"]["status"] == "measured"
    assert lab.results()["complete"]
