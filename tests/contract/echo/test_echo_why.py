"""Why: what the kernel's threads do for a server is found, where a study makes trials."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from benches import opened

from tare.lab.project import catalog
from tare.lab.project.preparation import Prepared, with_observers
from tare.lab.run import planning
from tare.lab.trial.trial import run_trial
from tare.model.profile import Explained
from tare.model.trial import PlannedTrial

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at processes"),
]
SHORT = {"connections": 2, "warmup_s": 0.1, "duration_s": 0.5}
ATTEMPTS = 8
"""Other work spoils some of them, whose processes are then not looked at."""
BACKLOG = "sk_psock_backlog"
"""Carries on what a program for sockets redirects; a worker of the kernel's runs it."""


def stacks(found: Explained, role: str) -> list[set[str]]:
    frames = found.profile.frames
    return [{frames[at].name for at in each.stack} for each in found.profile.roles[role].samples]


def test_the_kernels_threads_are_looked_at_beside_the_server(tmp_path: Path) -> None:
    loaded = catalog.load("echo", "throughput")
    prepared = with_observers(Prepared(), print, why=True)
    with opened(loaded, ["sockmap"], tmp_path, server=1, client=1) as bench:
        for attempt in range(1, ATTEMPTS + 1):
            done = run_trial(
                replace(bench, profiler=prepared.profiler),
                PlannedTrial(block=0, scenario="s", label="sockmap", variant="sockmap", id="one"),
                attempt,
                planning.scenario_at(loaded, {}, SHORT).parameters,
                seed=1, version="", work=tmp_path, progress=lambda _: None,
            )  # fmt: skip
            if done.trial.status != "invalid":
                break
    found = done.explained
    assert isinstance(found, Explained), (found, done.trial.reason)
    assert found.requests["variant"] > 0
    assert found.profile.roles.keys() >= {"variant/sut", "variant/kernel"}
    assert found.profile.roles["variant/kernel"].counts["cpu_ns"] > 0
    assert any(BACKLOG in each for each in stacks(found, "variant/kernel"))
    assert not any(BACKLOG in each for each in stacks(found, "variant/sut"))
    kinds = {each.kind for each in found.profile.frames}
    assert "kernel" in kinds
    of_threads = {
        found.profile.frames[at].kind
        for each in found.profile.roles["variant/kernel"].samples
        for at in each.stack
    }
    assert of_threads == {"kernel"}, "they have no user space"
