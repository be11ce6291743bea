"""Roles in a network namespace that the trial makes, and takes away however it ends."""

import os
from pathlib import Path

import pytest
from laboratory import Laboratory, wait_for

from tare.lab.machine import network

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces are made by root"),
]
RUN = ("run", "toy", "--variants", "plain", "-p", "netns=trial", "--blocks", "1")


def devices() -> set[str]:
    """All of the machine's network devices."""
    return {path.name for path in Path("/sys/class/net").iterdir()}


def test_a_role_of_another_network_is_reached_over_it(lab: Laboratory) -> None:
    lab.tare(*RUN)
    assert {trial.status for trial in lab.trials()} == {"valid"}
    log = (lab.run_folder() / "events.log").read_text()
    (tag,) = lab.tags()
    for trial in lab.trials():
        made = network.Network(f"{tag}.{trial.id}")
        assert f"--host {made.address} " in log
        assert made.near not in devices()


def test_a_killed_run_leaves_no_network(lab: Laboratory) -> None:
    command = lab.start(*RUN, "-p", "duration_s=20")
    made: list[network.Network] = []

    def began() -> bool:
        paths = [path for tag in lab.tags() for path in network.NAMES.glob(f"{tag}.*")]
        made[:] = [network.Network(path.name) for path in paths]
        return bool(made) and made[0].near in devices() and bool(lab.processes())

    wait_for(began)
    command.kill()
    command.communicate()
    lab.assert_nothing_left()
    assert made[0].near not in devices()
