"""Why: the known server's extra work is found where it is done, by the real profiler."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import parameters, planned
from tare.lab.machine.journal import Journal
from tare.lab.paths import ROOT
from tare.lab.project.preparation import Prepared, with_profiler
from tare.lab.trial.bench import Bench
from tare.lab.trial.duel import Opponents, run_duel
from tare.lab.trial.turns import BASELINE, VARIANT
from tare.model.profile import Explained

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at processes"),
]
CALL = "syscall.clock_gettime"


def duel(bench: Bench, work: Path, **changes: Any) -> tuple[Explained | str | None, str]:
    """Make a duel that no other work disturbs; return what was seen of its processes, and the
    variant's status.
    """
    for attempt in range(1, 9):
        done = run_duel(
            bench, planned("more"), attempt, parameters(**changes),
            opponents=Opponents("plain", {"plain": "", "more": ""}),
            seed=1, work=work, progress=lambda _: None,
        )  # fmt: skip
        if done[1].trial.status != "invalid":
            break
    return done[1].explained, done[1].trial.status


def test_a_duel_is_seen_from_the_kernel_side_by_side(bench: Bench, tmp_path: Path) -> None:
    prepared = with_profiler(Prepared(), print)
    assert prepared.profiler is not None
    found, status = duel(replace(bench, profiler=prepared.profiler), tmp_path, cpu_pct=100.0)
    assert status == "valid"
    assert isinstance(found, Explained)
    assert found.profile.roles.keys() >= {f"{BASELINE}/sut", f"{VARIANT}/sut"}
    calls = {
        side: found.profile.roles[f"{side}/sut"].counts[CALL] / found.requests[side]
        for side in (BASELINE, VARIANT)
    }
    assert calls[BASELINE] == pytest.approx(1.0, abs=0.1), "it reads its clock once a request"
    assert calls[VARIANT] > 2, "and until it has spent as much again"
    numbers = [at for at, each in enumerate(found.profile.frames) if each.name == "pay"]
    assert any(
        number in sample.stack
        for number in numbers
        for sample in found.profile.roles[f"{VARIANT}/sut"].samples
    )


def test_a_profiler_that_fails_costs_no_verdict(bench: Bench, tmp_path: Path) -> None:
    program = tmp_path / "profiler"
    program.write_text('#!/bin/sh\necho \'{"event":"unavailable","reason":"no such kernel"}\'\n')
    program.chmod(0o755)
    events = tmp_path / "events.log"
    alone = replace(bench, profiler=program, journal=Journal(events))
    found, status = duel(alone, tmp_path / "work")
    assert found == "processes cannot be looked at: no such kernel"
    assert status == "valid"
    assert "not explained: processes cannot be looked at: no such kernel" in events.read_text()


def test_a_run_names_the_function_that_differs(tmp_path: Path) -> None:
    for seed in range(4):
        run = [
            ROOT / "tare", "run", "calibration/cpu", "--scenarios", "added=20pct", "--blocks", "7",
            "--duration", "0.3", "-p", "rate=5000", "-p", "cpu_pct=100", "--seed", str(seed),
            "--why", "--json",
        ]  # fmt: skip
        done = subprocess.run(
            run, env=os.environ | {"TARE_RUNS": str(tmp_path)}, capture_output=True, text=True
        )
        (scenario,) = json.loads(done.stdout)["scenarios"]
        causes = [each for each in scenario["causes"] if each["label"] == "more"]
        if causes:  # six duels that no other work disturbed
            break
    (found,) = causes
    assert found["duels"] >= 6
    clear = {each["name"]: each["difference"] for each in found["counts"] if each["clear"]}
    assert clear[CALL] > 1
    (pay,) = [each for each in found["frames"] if each["name"] == "pay" and not each["own"]]
    assert pay["difference_ns"] > 0.5 * found["difference_ns"] > 0
