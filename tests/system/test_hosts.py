"""Runs whose roles are on hosts of their own, here namespaces: lost, killed, and resumed."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import PATIENCE_S, Laboratory, wait_for
from namespaces import Spread

from tare.stats.blocks import planned_trials

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]
BLOCKS = 2
RUN = ("run", "toy", "--variants", "plain", "--seed", "5", "--blocks", str(BLOCKS))
LONG = ("-p", "duration_s=3")
"""Long enough to be met in the middle of a trial."""


@pytest.fixture
def spread(tmp_path: Path) -> Iterator[Spread]:
    found = Spread.made(tmp_path)
    yield found
    wait_for(lambda: not found.left(), found.left)


def assert_whole(lab: Laboratory) -> None:
    """The plan's trials are all there, and were made between the hosts."""
    valid = [trial for trial in lab.trials() if trial.status == "valid"]
    assert [trial.id.removesuffix(f"-a{trial.attempt}") for trial in valid] == [
        planned.id for block in range(BLOCKS) for planned in planned_trials(lab.plan(), block)
    ]
    assert lab.results()["complete"]
    for trial in valid:
        assert (lab.run_folder() / "histograms" / f"{trial.id}.json").exists()
        assert (lab.run_folder() / "logs" / trial.id / "sut.log").exists()


def in_a_trial(lab: Laboratory, count: int) -> None:
    """Wait until so many windows have been opened."""

    def opened() -> bool:
        logs = list(lab.runs.glob("*/events.log"))
        return bool(logs) and logs[0].read_text(errors="replace").count('"measure"') >= count

    wait_for(opened, patience_s=4 * PATIENCE_S)


def test_roles_are_apart_and_a_lost_host_costs_a_trial(lab: Laboratory, spread: Spread) -> None:
    command = lab.start(*RUN, *LONG, "--hosts", str(spread.file))
    in_a_trial(lab, 1)
    os.kill(spread.agent("server"), signal.SIGKILL)
    out, err = command.communicate(timeout=8 * PATIENCE_S)
    assert command.returncode == 0, out + err
    assert_whole(lab)
    lost = [trial for trial in lab.trials() if trial.machine_fault]
    # None, if it was lost just between two trials.
    assert len(lost) <= 1
    assert all("host server" in str(trial.reason) for trial in lost)
    hosts = json.loads((lab.run_folder() / "environment.json").read_text())["hosts"]
    assert hosts["load"]["roles"] == ["load"]
    assert hosts["server"]["roles"] == ["sut"]
    assert hosts["server"]["address"] == spread.address("server")
    events = (lab.run_folder() / "events.log").read_text()
    assert f"--host {spread.address('server')} --port" in events


def test_a_host_that_is_gone_ends_the_run_which_resumes(lab: Laboratory, spread: Spread) -> None:
    command = lab.start(*RUN, *LONG, "--hosts", str(spread.file))
    in_a_trial(lab, 2)
    agent = spread.agent("server")
    subprocess.run(["ip", "netns", "delete", spread.namespace("server")], check=True)
    os.kill(agent, signal.SIGKILL)
    out, err = command.communicate(timeout=4 * PATIENCE_S)
    assert command.returncode == 1, out + err
    assert "host server: no agent could be started" in err
    assert f"go on with: tare resume {lab.run_folder().name}" in err
    lab.assert_nothing_left()
    lab.tare("resume", "last")
    assert_whole(lab)


def test_a_killed_run_leaves_nothing_on_its_hosts_and_resumes(
    lab: Laboratory, spread: Spread
) -> None:
    command = lab.start(*RUN, *LONG, "--hosts", str(spread.file))
    in_a_trial(lab, 1)
    assert all(spread.processes(host) for host in ("load", "server", "backend"))
    command.kill()
    command.communicate()
    lab.assert_nothing_left()
    wait_for(lambda: not spread.left(), spread.left)
    wait_for(lambda: not list(lab.runs.glob("host-*")))
    lab.tare("resume", "last")
    assert_whole(lab)


def test_hosts_are_checked_before_a_run(lab: Laboratory, spread: Spread) -> None:
    found = json.loads(lab.tare("hosts", "check", str(spread.file), "--json"))
    assert [host["name"] for host in found] == ["load", "server", "backend"]
    for host in found:
        assert host["troubles"] == []
        assert len(host["round_trips_us"]) == len(found) - 1
        assert host["clock"]["error_us"] > 0


def test_what_cannot_be_spread_is_refused_in_a_sentence(lab: Laboratory, spread: Spread) -> None:
    said = lab.tare(*RUN, "-p", "netns=trial", "--hosts", str(spread.file), code=2)
    assert "cannot be spread over hosts: " in said
    assert "its roles have a network namespace of their own" in said
    assert not list(lab.runs.glob("*"))
