"""What was seen of trials, beside what was seen of those that they are paired with."""

from pathlib import Path

import numpy as np
import pytest
import zstandard
from runs import CPU, plan, trials

from tare.model.profile import PACKED, PROFILES, Explained, Frame, Profile, Sample, Seen
from tare.model.results import CauseResult
from tare.model.scenario import Scenario
from tare.model.study import Blocks
from tare.report import results, stacks
from tare.report.causes import causes
from tare.report.explained import explained
from tare.report.folder import RunFolder
from tare.report.sentence import of_scenario
from tare.report.why import because

PERIOD_NS = 500_000
REQUESTS = 1000
SERVER, KERNEL = 100, 60
"""Samples of a server that works itself, and of the kernel's threads that work in its place."""


def alone(rng: np.random.Generator, role: str, stack: list[str], samples: int) -> Explained:
    """One trial in which one role does it all; a role that does nothing is beside it."""
    count = int(rng.poisson(samples))
    idle = "kernel" if role == "sut" else "sut"
    kind = "kernel" if role == "kernel" else "user"
    busy = Seen(
        samples=[Sample(stack=list(range(len(stack))), count=count)],
        counts={"cpu_ns": count * PERIOD_NS},
    )
    return Explained(
        requests={"variant": REQUESTS},
        profile=Profile(
            period_ns=PERIOD_NS,
            window_ns=10**9,
            frames=[Frame(name=name, module=role, kind=kind) for name in stack],
            roles={f"variant/{role}": busy, f"variant/{idle}": Seen(counts={"cpu_ns": 0})},
        ),
    )


def run(folder: Path, blocks: int = 12) -> RunFolder:
    machine = {"cpu": CPU.model_copy(update={"value": "probe.machine_us"})}
    made = plan(
        outcomes=machine,
        scenarios=[Scenario(name="default", parameters={})],
        blocks=Blocks(min=blocks, max=blocks),
    )
    known = trials(made, blocks, {"dear": 0.6})
    rng = np.random.default_rng(7)
    (folder / PROFILES).mkdir()
    for trial in known:
        seen = (
            alone(rng, "kernel", ["kthread", "backlog"], KERNEL)
            if trial.label == "dear"
            else alone(rng, "sut", ["main", "pump"], SERVER)
        )
        file = folder / PROFILES / f"{trial.id}{PACKED}"
        file.write_bytes(zstandard.compress(seen.model_dump_json().encode()))
    return RunFolder(folder, made, known, {})


def only(folder: RunFolder) -> CauseResult:
    (found,) = causes(folder, "default", ["none", "dear"])
    return found


def test_a_trial_is_seen_beside_the_baselines_of_its_block(tmp_path: Path) -> None:
    found = list(explained(run(tmp_path), "default", "dear"))
    assert [trial.block for trial, _ in found] == list(range(12))
    for _, pair in found:
        assert pair.requests == {"variant": REQUESTS, "baseline": REQUESTS}
        names = {
            role: [pair.profile.frames[at].name for each in seen.samples for at in each.stack]
            for role, seen in pair.profile.roles.items()
        }
        assert names == {
            "variant/kernel": ["kthread", "backlog"],
            "variant/sut": [],
            "baseline/sut": ["main", "pump"],
            "baseline/kernel": [],
        }


def test_the_baseline_is_not_held_against_itself(tmp_path: Path) -> None:
    assert list(explained(run(tmp_path), "default", "none")) == []


def test_a_block_without_one_of_the_two_does_not_count(tmp_path: Path) -> None:
    folder = run(tmp_path)
    lost = {trial.label: trial for trial in folder.trials if trial.block == 3}
    (tmp_path / PROFILES / f"{lost['none'].id}{PACKED}").unlink()
    assert 3 not in [trial.block for trial, _ in explained(folder, "default", "dear")]
    assert only(folder).duels == 11


def test_who_spends_more_and_who_less_is_told_apart(tmp_path: Path) -> None:
    folder = run(tmp_path)
    found = only(folder)
    parts = {each.role: each for each in found.roles}
    assert parts["kernel"].baseline_ns == parts["sut"].variant_ns == 0
    assert parts["sut"].difference_ns + parts["kernel"].difference_ns == pytest.approx(
        found.difference_ns
    )
    (told,) = because(found, "none", "trials")
    assert told.startswith("While observed, dear spent ")
    server, threads = told.partition(": ")[2].split("; ")
    assert server.startswith("the server ")
    assert server.endswith(" less, most of it in pump (sut), called by main (sut)")
    assert threads.startswith("the kernel's threads ")
    assert threads.endswith(" more, most of it in backlog (kernel), called by kthread (kernel).")
    made = results.make(folder)
    assert told in of_scenario(made, made.scenarios[0])


def test_stacks_of_both_sides_are_written(tmp_path: Path) -> None:
    folder = run(tmp_path)
    made = stacks.of_run(folder, results.make(folder))
    found = {each.name: each for each in made if each.label == "dear"}
    assert found.keys() == {"default-dear-baseline", "default-dear-variant"}
    assert "main (sut);pump (sut)" in stacks.folded(found["default-dear-baseline"])
    assert "backlog" in stacks.folded(found["default-dear-variant"])
