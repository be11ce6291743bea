"""What is printed while a run goes on."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import projects
import pytest

from tare.cli import progress
from tare.cli.progress import Follower
from tare.lab.project.catalog import load
from tare.lab.project.preparation import Prepared
from tare.lab.run import planning
from tare.lab.run.estimate import estimate
from tare.model.trial import PlannedTrial, Trial
from tare.stats.blocks import planned_trials
from tare.stats.ending import comparisons
from tare.stats.stopping import Stop


def trial(planned: PlannedTrial, **more: Any) -> Trial:
    made = {"attempt": 1, "started": "now", "wall_s": 0.5, "status": "valid"}
    return Trial.model_validate(planned.model_dump() | made | more)


def test_it_counts_the_trials_that_can_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    never = "[[levels]]\nwhen = 'connections == 8'\nunsupported = 'it never does'"
    variants = {"none": "", "other": never, "third": ""}
    loaded = load("exp", root=projects.write(tmp_path, variants=variants))
    plan = projects.plan(loaded, scenarios=["loop=closed|open,size=small|large"], blocks=1)
    prepared = Prepared(unavailable={"third": "there is no such device"})
    # Four scenarios: the baseline and itself again in each, the other one in half of them.
    count = estimate(plan, loaded, tmp_path / "runs", prepared).per_block
    assert count == 4 * 2 + 2
    with Follower(plan, count) as follower:
        for planned in planned_trials(plan, 0):
            scenario = next(each for each in plan.scenarios if each.name == planned.scenario)
            why = prepared.unavailable_in(scenario, loaded, planned.variant)
            follower.begins(planned, 1)
            if why is not None:
                follower.ends(trial(planned, status="unavailable", reason=why))
                continue
            follower.ends(trial(planned, status="invalid", reason="a gate"))
            follower.begins(planned, 2)
            follower.ends(trial(planned, attempt=2))
        follower.block(1, Stop.MOST_BLOCKS)
    said = capsys.readouterr().err
    (line,) = re.findall(r"tare: block .*", said)
    assert line.startswith(f"tare: block 1 of 1: {2 * count} trials in 10 s, {count} refused")
    assert said.count("unavailable: ") == 4 + 2
    assert said.count("does not count: a gate") == count


def test_a_block_s_line_says_what_is_known_and_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = load("exp", root=projects.write(tmp_path, variants={"none": "", "other": ""}))
    plan = planning.make(
        loaded, quick=False, variants=None, scenarios=None, blocks=9, seed=1, overrides={}
    )
    name = plan.awaited[0]
    with Follower(plan, 3) as follower:
        for block in range(9):
            for planned in planned_trials(plan, block):
                follower.begins(planned, 1)
                cost = (2.0 if planned.label == "other" else 1.0) * (1 + block / 1000)
                follower.ends(trial(planned, outcomes=dict.fromkeys(plan.judged, cost)))
            follower.block(block + 1, Stop.MOST_BLOCKS if block == 8 else Stop.GO_ON)
    assert name in plan.judged
    lines = re.findall(r"tare: (block .*)", capsys.readouterr().err)
    verdicts = len(plan.awaited) * len(plan.scenarios)
    assert len(lines) == 9 and verdicts == 1
    assert "; 0 of 1 verdict; at least " in lines[0] and lines[0].endswith(" left")
    assert lines[8].endswith("; 1 of 1 verdict")


def test_an_outcome_that_no_trial_could_name_is_not_among_the_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = load("exp", root=projects.write(tmp_path, variants={"none": "", "other": ""}))
    plan = planning.make(
        loaded, quick=False, variants=None, scenarios=None, blocks=9, seed=1, overrides={}
    )
    names = ["cpu", "p99"]
    outcomes = dict.fromkeys(names, plan.outcomes["cpu"])
    plan = plan.model_copy(update={"judged": names, "awaited": names, "outcomes": outcomes})
    known: dict[str, float | None] = dict.fromkeys(names, 1.0)
    # As p99 of too few requests.
    known["p99"] = None
    with Follower(plan, 3) as follower:
        for planned in planned_trials(plan, 0):
            follower.begins(planned, 1)
            follower.ends(trial(planned, outcomes=known))
        follower.block(1, Stop.GO_ON)
    (line,) = re.findall(r"tare: (block .*)", capsys.readouterr().err)
    # As many as the comparisons of which another line says what they take.
    scenarios = len(plan.scenarios)
    assert comparisons(plan) == 2
    assert f"; 0 of {2 * scenarios} verdicts, {scenarios} more awaited; " in line


def test_the_time_of_a_run_bounds_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = load("exp", root=projects.write(tmp_path, variants={"none": "", "other": ""}))
    plan = planning.make(
        loaded, quick=False, variants=None, scenarios=None, blocks=None, seed=1, overrides={},
        until="resolved", within_s=100.0,
    )  # fmt: skip
    for within_s, rest in ((100.0, r"at least \d+ s left"), (
        8.0, r"[1-7] s left, at this pace too short for a verdict"
    )):  # fmt: skip
        short = plan.model_copy(update={"within_s": within_s})
        with Follower(short, 3) as follower:
            for planned in planned_trials(short, 0):
                follower.ends(trial(planned, wall_s=1.0 if planned.label == "other" else 0.5))
            follower.block(1, Stop.GO_ON)
        (line,) = re.findall(r"tare: (block .*)", capsys.readouterr().err)
        assert line.startswith("block 1 of 6: ")
        assert re.search(f"; {rest}$", line), line


def test_a_gate_counts_its_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load("exp", root=projects.write(tmp_path, variants={"none": "", "other": ""}))
    plan = planning.make(
        loaded, quick=False, variants=None, scenarios=None, blocks=9, seed=1, overrides={},
        limits={"cpu": 2.0},
    )  # fmt: skip
    with Follower(plan, 3) as follower:
        for planned in planned_trials(plan, 0):
            follower.ends(trial(planned, outcomes={"cpu": 1.0}))
        follower.block(1, Stop.GO_ON)
    (line,) = re.findall(r"tare: (block .*)", capsys.readouterr().err)
    limits = "1 limit" if len(plan.scenarios) == 1 else f"{len(plan.scenarios)} limits"
    assert f"; 0 of {limits} decided; at least " in line


def test_verdicts_that_take_long_are_not_counted_all_the_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load("exp", root=projects.write(tmp_path, variants={"none": "", "other": ""}))
    plan = planning.make(
        loaded, quick=False, variants=None, scenarios=None, blocks=9, seed=1, overrides={}
    )
    clock, counted = [100.0], []

    def count(_: Follower) -> str:
        clock[0] += 1.0
        counted.append(clock[0])
        return f"{len(counted)} verdicts"

    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(Follower, "_counted", count)
    with Follower(plan, 3) as follower:
        for block, benches, later_s in [(1, 1, 0), (2, 1, 0), (3, 2, 9), (4, 2, 2), (5, 2, 0)]:
            clock[0] += later_s
            follower.benches(benches)
            follower.ends(trial(planned_trials(plan, 0)[0]))
            follower.block(block, Stop.MOST_BLOCKS if block == 5 else Stop.GO_ON)
    told = re.findall(r"(\d) verdicts", capsys.readouterr().err)
    assert told == ["1", "1", "1", "2", "3"]
