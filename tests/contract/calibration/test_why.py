"""Why: the known server's extra work is found where it is done, by the real profiler."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from known import parameters, planned

from tare.lab.machine.journal import Journal
from tare.lab.paths import ROOT
from tare.lab.project.preparation import Prepared, with_observers
from tare.lab.trial.attempt import Done
from tare.lab.trial.bench import Bench
from tare.lab.trial.duel import Opponents, run_duel
from tare.lab.trial.turns import BASELINE, VARIANT
from tare.model.profile import Explained
from tare.model.tail import Tails

pytestmark = [
    pytest.mark.contract,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at processes"),
]
CALL = "syscall.clock_gettime"
ANSWER = "syscall.sendto"
"""One of each request."""
DISTURBED = ("achieved", "send-lag", "slices")
"""Gates that other work makes fire. What is seen of processes does not depend on them."""
RUNS = 4
"""A run that other work disturbs names nothing; so many of them tell a profiler that does not."""


@pytest.fixture(name="bench")
def tolerant(bench: Bench) -> Bench:
    """A bench whose duels count beside other work."""
    off = dict.fromkeys(DISTURBED, "tests run on machines that others use")
    study = bench.loaded.study
    gates = {**study.gates, "off": {**study.gates.get("off", {}), **off}}
    loaded = replace(bench.loaded, study=study.model_copy(update={"gates": gates}))
    return replace(bench, loaded=loaded)


def variant_of(bench: Bench, work: Path, **changes: Any) -> Done:
    """Make a duel that no other work disturbs; return its variant's side."""
    for attempt in range(1, 9):
        _, done = run_duel(
            bench, planned("more"), attempt, parameters(**changes),
            opponents=Opponents("plain", {"plain": "", "more": ""}),
            seed=1, work=work, progress=lambda _: None,
        )  # fmt: skip
        if done.trial.status != "invalid":
            break
    return done


def duel(bench: Bench, work: Path, **changes: Any) -> tuple[Explained | str | None, str]:
    """Make a duel; return what was seen of its processes, and the variant's status."""
    done = variant_of(bench, work, **changes)
    return done.explained, done.trial.status


def test_a_duel_is_seen_from_the_kernel_side_by_side(bench: Bench, tmp_path: Path) -> None:
    prepared = with_observers(Prepared(), print, why=True)
    assert isinstance(prepared.profiler, Path)
    found, status = duel(replace(bench, profiler=prepared.profiler), tmp_path, cpu_pct=100.0)
    assert status == "valid"
    assert isinstance(found, Explained)
    assert found.profile.roles.keys() >= {f"{BASELINE}/sut", f"{VARIANT}/sut"}
    counts = {side: found.profile.roles[f"{side}/sut"].counts for side in (BASELINE, VARIANT)}
    for side, own in counts.items():
        # A profiler that begins late misses some, of calls and of answers alike.
        assert 0 < own[ANSWER] <= 1.1 * found.requests[side]
    calls = {side: own[CALL] / own[ANSWER] for side, own in counts.items()}
    for side in (BASELINE, VARIANT):
        assert calls[side] == pytest.approx(2.0, abs=0.2), "it reads its clock twice a request"
    numbers = [at for at, each in enumerate(found.profile.frames) if each.name == "pay"]
    paid = [
        sample.stack
        for sample in found.profile.roles[f"{VARIANT}/sut"].samples
        if {*numbers} & {*sample.stack}
    ]
    assert paid
    cut = [stack for stack in paid if found.profile.frames[stack[0]].kind == "cut"]
    assert not cut, "the server has no frame pointers, but .eh_frame"


def test_the_slowest_requests_of_both_sides_are_looked_at(bench: Bench, tmp_path: Path) -> None:
    """Once a second the variant sleeps, which the baseline does not."""
    prepared = with_observers(Prepared(), print, tail=True)
    assert prepared.observer is not None and prepared.profiler is None
    looking = replace(bench, observer=prepared.observer)
    # Longer than other work ever stops a server, or its requests would be the slowest instead.
    done = variant_of(looking, tmp_path, duration_s=2.5, stall_ms=400)
    assert done.explained is None
    assert isinstance(done.tails, Tails), done.tails
    slept = {}
    for side, seen in done.tails.sides.items():
        assert seen.tail.requests >= 10 and seen.p99_ns is not None and seen.p99_ns > 0
        assert sum(part.slow_ns for part in seen.tail.parts) == pytest.approx(seen.tail.slow_ns)
        slept[side] = sum(part.slow_ns for part in seen.tail.parts if part.cause == "sleep")
    assert slept[BASELINE] == 0 and slept[VARIANT] > 1e6


def test_a_look_at_the_slowest_that_fails_costs_no_verdict(bench: Bench, tmp_path: Path) -> None:
    events = tmp_path / "events.log"
    program = script(tmp_path, "echo no memory >&2; exit 1")
    alone = replace(bench, observer=program, journal=Journal(events))
    done = variant_of(alone, tmp_path / "work")
    assert done.trial.status == "valid"
    assert isinstance(done.tails, str) and done.tails.startswith("observer ended early")
    assert "not looked at: observer ended early" in events.read_text()


def script(folder: Path, text: str) -> Path:
    program = folder / "profiler"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def test_a_profiler_that_fails_costs_no_verdict(bench: Bench, tmp_path: Path) -> None:
    events = tmp_path / "events.log"
    program = script(tmp_path, "echo no memory >&2; exit 1")
    alone = replace(bench, profiler=program, journal=Journal(events))
    found, status = duel(alone, tmp_path / "work")
    assert isinstance(found, str) and found.startswith("profiler ended early")
    assert status == "valid"
    assert "not explained: profiler ended early" in events.read_text()


def only_counted(found: Explained | str | None, reason: str) -> None:
    assert isinstance(found, Explained)
    assert found.only_counted == reason
    assert found.profile.frames == []
    for side in (BASELINE, VARIANT):
        counts = found.profile.roles[f"{side}/sut"].counts
        assert counts["cpu_ns"] > 0
        assert counts["switch.voluntary"] > 0
        assert not any(name.startswith("syscall.") for name in counts)
        assert found.requests[side] > 0


def test_without_the_rights_of_the_profiler_proc_counts(bench: Bench, tmp_path: Path) -> None:
    prepared = with_observers(Prepared(), print, why=True)
    rights = "-sys_admin,-bpf,-perfmon"
    program = script(tmp_path, f'exec setpriv --bounding-set={rights} {prepared.profiler} "$@"')
    found, status = duel(replace(bench, profiler=program), tmp_path / "work")
    assert status == "valid"
    only_counted(found, "BPF programs need root, or CAP_BPF and CAP_PERFMON")


def test_without_a_profiler_proc_counts(bench: Bench, tmp_path: Path) -> None:
    found, status = duel(replace(bench, profiler="clang is not there"), tmp_path / "work")
    assert status == "valid"
    only_counted(found, "clang is not there")


def test_a_run_names_the_function_that_differs(tmp_path: Path) -> None:
    said = []
    for seed in range(RUNS):
        run = [
            ROOT / "tare", "run", "calibration/cpu", "--scenarios", "added=20pct", "--blocks", "7",
            "--duration", "0.3", "-p", "rate=5000", "-p", "cpu_pct=100", "--seed", str(seed),
            "--why", "--json",
        ]  # fmt: skip
        done = subprocess.run(
            run, env=os.environ | {"TARE_RUNS": str(tmp_path)}, capture_output=True, text=True
        )
        if "the machine spoilt" in done.stderr:
            said.append(done.stderr)
            continue
        (scenario,) = json.loads(done.stdout)["scenarios"]
        causes = [each for each in scenario["causes"] if each["label"] == "more"]
        if any(map(names_pay, causes)):
            return
        said.append(json.dumps(causes))
    pytest.fail("\n".join(said))


def names_pay(found: dict[str, Any]) -> bool:
    """Whether the extra work is found in the function that does it, and in no system call."""
    calls = {each["name"]: each["clear"] for each in found["counts"]}
    pay = [each for each in found["frames"] if each["name"] == "pay" and not each["own"]]
    return (
        found["duels"] >= 6
        and not calls[CALL]
        and len(pay) == 1
        and pay[0]["difference_ns"] > 0.5 * found["difference_ns"] > 0
    )
