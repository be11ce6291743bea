"""Runs that are stopped, politely or not: nothing measured is lost, nothing is left behind."""

import json
import os
import random
import shutil
import signal
import time

import pytest
from laboratory import PATIENCE_S, Laboratory, end, wait_for

from tare.stats.blocks import planned_trials

pytestmark = pytest.mark.system
RUN = ("run", "toy", "--quick", "--seed", "7")
KILLS = int(os.environ.get("TARE_KILLS", "4"))


def assert_resumed(lab: Laboratory, before: bytes) -> None:
    """The stopped run is finished as if it had not been stopped, and says what is left of it."""
    with lab.start("resume", "last") as command:
        _, err = command.communicate(timeout=4 * PATIENCE_S)
    assert command.returncode == 0, err
    count = sum(json.loads(line)["status"] == "valid" for line in before.splitlines())
    told = f"{count} trial{'s' * (count != 1)} made, {6 - count} more, about "
    assert told in err or count in (0, 6), err
    assert (lab.run_folder() / "trials.jsonl").read_bytes().startswith(before)
    assert lab.plan().seed == 7
    # On a busy machine a gate may refuse one, which is then made again.
    made = [trial for trial in lab.trials() if trial.status != "invalid"]
    assert [trial.id.removesuffix(f"-a{trial.attempt}") for trial in made] == [
        planned.id for block in (0, 1) for planned in planned_trials(lab.plan(), block)
    ]
    assert {trial.status for trial in made} == {"valid"}
    assert lab.results()["complete"]


def stored(lab: Laboratory) -> bytes:
    """All whole lines of the trials."""
    file = lab.run_folder() / "trials.jsonl"
    content = file.read_bytes() if file.exists() else b""
    return content[: content.rfind(b"\n") + 1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_stores_what_it_has_and_resumes(
    lab: Laboratory, number: signal.Signals
) -> None:
    command = lab.start(*RUN)
    wait_for(lab.has_trials(2))
    code, text = end(command, number)
    assert code == 130, text
    assert f"go on with: tare resume {lab.plan().run}" in text
    assert f"stopped by {number.name}" in text
    lab.assert_nothing_left()
    assert not lab.results()["complete"]
    assert len(lab.trials()) < 6
    assert_resumed(lab, stored(lab))


def test_a_finished_run_says_so(lab: Laboratory) -> None:
    lab.tare(*RUN)
    before = stored(lab)
    with lab.start("resume", "last") as command:
        out, err = command.communicate(timeout=2 * PATIENCE_S)
    assert command.returncode == 0, err
    assert f"{lab.plan().run} is finished: nothing is left to measure" in err
    assert "plain (A/A control)" in out and stored(lab) == before


def test_two_runs_of_one_name_in_two_projects_do_not_meet(lab: Laboratory) -> None:
    command = lab.start(*RUN)
    wait_for(lab.has_trials(1))
    end(command, signal.SIGINT)
    others = [Laboratory(lab.home / "one"), Laboratory(lab.home / "two")]
    for other in others:
        shutil.copytree(lab.runs, other.runs)
    resumed = [other.start("resume", "last") for other in others]
    for command in resumed:
        out, err = command.communicate(timeout=2 * PATIENCE_S)
        assert command.returncode == 0, out + err
    for other in others:
        assert "failed" not in {trial.status for trial in other.trials()}
        other.assert_nothing_left()


def test_a_run_whose_experiment_has_changed_is_not_gone_on_with(lab: Laboratory) -> None:
    command = lab.start(*RUN)
    wait_for(lab.has_trials(1))
    end(command, signal.SIGINT)
    before, file = stored(lab), lab.run_folder() / "environment.json"
    environment = json.loads(file.read_text())
    file.write_text(json.dumps(environment | {"fingerprint": "of other sources"}))
    text = lab.tare("resume", code=1)
    assert "has changed since the run" in text and "--seed 7" in text
    assert stored(lab) == before
    lab.assert_nothing_left()
    file.write_text(json.dumps(environment))
    assert_resumed(lab, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_build_leaves_nothing(lab: Laboratory, number: signal.Signals) -> None:
    command = lab.start("run", "toy", "--variants", "slow-build")
    wait_for(lambda: any("sleep" in line for line in lab.processes()))
    code, _ = end(command, number)
    assert code == 130
    wait_for(lambda: not lab.processes(), lab.processes)
    assert not list(lab.home.glob("cache/built/staging-*"))


@pytest.mark.parametrize("draw", range(KILLS))
def test_a_killed_run_loses_nothing_and_leaves_nothing(lab: Laboratory, draw: int) -> None:
    command = lab.start(*RUN)
    wait_for(lambda: bool(list(lab.runs.glob("*/plan.json"))))
    time.sleep(random.Random(draw).uniform(0.0, 4.0))
    command.kill()
    with command:
        if draw % 2:  # else it is resumed at once, with the guardian still at work
            lab.assert_nothing_left()
        assert_resumed(lab, stored(lab))


def test_a_run_that_was_killed_before_its_first_trial_can_be_reported(lab: Laboratory) -> None:
    command = lab.start("run", "toy", "--variants", "slow-build")
    wait_for(lambda: any("sleep" in line for line in lab.processes()))
    command.kill()
    command.communicate()
    for line in lab.processes():  # nobody takes a build away from a killed laboratory
        os.kill(int(line.split()[0]), signal.SIGKILL)
    assert "not finished" in lab.tare("report")


def test_a_live_run_is_not_resumed_by_another(lab: Laboratory) -> None:
    command = lab.start(*RUN, "--blocks", "100")
    wait_for(lab.has_trials())
    text = lab.tare("resume", "last", code=1)
    assert "is in use by another process" in text
    wait_for(lab.has_trials(len(lab.trials()) + 1))
    code, _ = end(command, signal.SIGTERM)
    assert code == 130
    assert {trial.status for trial in lab.trials()} <= {"valid", "invalid"}
