"""Runs by duel: both sides are there, each is checked, and what is cut off is made again."""

import signal

import pytest
from laboratory import Laboratory, end, wait_for

from tare.stats.blocks import planned_trials

pytestmark = [pytest.mark.system, pytest.mark.alone]


def test_a_run_by_duel_has_both_sides_of_each(lab: Laboratory) -> None:
    text = lab.tare("run", "toy/duel", "--quick", "--seed", "7")
    assert "plain (A/A control)" in text
    planned = [each for block in (0, 1) for each in planned_trials(lab.plan(), block)]
    labels = [(trial.block, trial.label) for trial in lab.trials()]
    assert labels == [
        (each.block, label) for each in planned for label in (f"plain@{each.label}", each.label)
    ]
    results = lab.results()
    (scenario,) = results["scenarios"]
    assert results["complete"]
    variants = scenario["variants"]
    assert {name: item["trials_valid"] for name, item in variants.items()} == {
        "plain": 0,
        "slow": 2,
        "control": 2,
    }
    cost = variants["slow"]["outcomes"]["cpu_us_per_request"]
    assert cost["effect_pct"] > 0 and cost["blocks"] == 2
    assert variants["plain"]["latency"] and variants["slow"]["latency"]
    # Each side's server counted what the instrument was answered by it.
    assert 0.5 < variants["plain"]["outcomes"]["counted"]["median"] < 2
    for trial in lab.trials():
        assert trial.roles.keys() == {"sut"}, "the instrument worked for both sides"
        assert (lab.run_folder() / "histograms" / f"{trial.id}.json").exists()
        assert (lab.run_folder() / "logs" / trial.id / "sut.log").exists()


def test_a_broken_side_is_named_and_the_rest_goes_on(lab: Laboratory) -> None:
    broken = {
        "does-not-start": "role sut ended with exit code 1: the toy does not want to",
        "crashes-midway": "role sut ended with exit code 1: the toy has had enough",
        "wrong-answers": "oracle: found b'no\\n', expected b'ok\\n'",
        "ignores-term": "role sut did not end on SIGTERM within 0.3 s and was killed",
    }
    variants = ",".join([*broken, "unavailable"])
    lab.tare("run", "toy/duel", "--variants", variants, "--blocks", "1", code=1)
    (scenario,) = lab.results()["scenarios"]
    found = scenario["variants"]
    for name, reason in broken.items():
        assert found[name]["status"] == "failed", found[name]
        assert reason in found[name]["reason"]
    assert found["unavailable"]["status"] == "unavailable"
    assert found["plain"]["status"] == found["control"]["status"] == "measured"
    others = [trial for trial in lab.trials() if trial.label == "plain@crashes-midway"]
    assert others and others[0].status == "invalid"
    assert others[0].reason is not None
    assert others[0].reason.startswith("its opponent crashes-midway is failed: ")


def test_a_baseline_that_turns_out_unavailable_ends_the_scenario_once(lab: Laboratory) -> None:
    against = ("--baseline", "not-here", "--variants", "plain,slow")
    lab.tare("run", "toy/duel", *against, "--blocks", "3", "--seed", "7")
    results = lab.results()
    (scenario,) = results["scenarios"]
    assert results["complete"]
    found = scenario["variants"]
    assert {each["status"] for each in found.values()} == {"unavailable"}, found
    reason = "it works on Tuesdays"
    assert found["control"]["reason"] == found["not-here"]["reason"] == reason
    for name in ("plain", "slow"):
        assert found[name]["reason"] == f"its baseline not-here is unavailable: {reason}"
    assert len([trial for trial in lab.trials() if trial.wall_s]) == 2, "one duel is tried"
    noted = [trial.label for trial in lab.trials() if trial.status == "unavailable"]
    assert len(noted) == len({*noted})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_goes_on_with_whole_duels(lab: Laboratory, number: signal.Signals) -> None:
    command = lab.start("run", "toy/duel", "--variants", "slow", "--blocks", "3", "--seed", "7")
    wait_for(lab.has_trials(2))
    end(command, number)
    lab.tare("resume", "last")
    assert lab.results()["complete"]
    valid = [(trial.block, trial.label) for trial in lab.trials() if trial.status == "valid"]
    assert len(valid) == len(set(valid)) == 3 * 2 * 2
