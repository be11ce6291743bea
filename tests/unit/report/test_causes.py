"""Causes, of built runs in which one function is dearer by a known amount."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from runs import CPU, plan, trials

from tare.lab.paths import ROOT
from tare.model.profile import PACKED, PROFILES, Explained, Frame, Profile, Sample, Seen
from tare.model.results import CauseResult, FrameResult, RoleResult
from tare.model.scenario import Scenario
from tare.model.study import Blocks
from tare.report import html, results, stacks
from tare.report.causes import causes
from tare.report.errors import NotARun, ReportError
from tare.report.explained import explained
from tare.report.folder import RunFolder
from tare.report.why import because, culprits

PERIOD_NS = 500_000
REQUESTS = 1000
FRAMES = ["main", "serve", "parse", "log", "write", "send"]
STACKS = [[0, 1, 2], [0, 1, 3], [0, 1, 3, 4], [0, 1, 5]]
CUT = Frame(name="…", module="", kind="cut")


def seen_in(rng: np.random.Generator, more: int, calls: int) -> Explained:
    """One duel of two files: the variant's `write` below `log` has `more` samples, and `calls`."""

    def side(extra: int, calls: int, first: int) -> Seen:
        counts = rng.poisson([100, 20, 30 + extra, 100])
        samples = [
            Sample(stack=[0, *(first + at for at in stack)], count=int(count))
            for stack, count in zip(STACKS, counts, strict=True)
        ]
        counted = {"syscall.write": calls * REQUESTS, "cpu_ns": int(counts.sum()) * PERIOD_NS}
        return Seen(samples=samples, counts=counted)

    frames = [
        Frame(name=name, module=base, kind="user") for base in ("new", "old") for name in FRAMES
    ]
    return Explained(
        requests={"baseline": REQUESTS, "variant": REQUESTS},
        profile=Profile(
            period_ns=PERIOD_NS,
            window_ns=10**9,
            frames=[CUT, *frames],
            roles={
                "variant/sut": side(more, 1 + calls, 1),
                "baseline/sut": side(0, 1, 1 + len(FRAMES)),
            },
        ),
    )


def run(folder: Path, *, more: int = 0, calls: int = 0, blocks: int = 12) -> RunFolder:
    made = plan(
        outcomes={"cpu": CPU.model_copy(update={"per": "instrument.requests"})},
        scenarios=[Scenario(name="default", parameters={})],
        pairing="slices",
        blocks=Blocks(min=blocks, max=blocks),
    )
    known = trials(made, blocks, {"dear": 1.1})
    rng = np.random.default_rng(5)
    (folder / PROFILES).mkdir()
    for trial in known:
        if trial.label == "dear":
            text = seen_in(rng, more, calls).model_dump_json()
            file = folder / PROFILES / f"{trial.id}{PACKED}"
            file.write_bytes(zstandard.compress(text.encode()))
    return RunFolder(folder, made, known, {})


def only(folder: RunFolder) -> CauseResult:
    (found,) = causes(folder, "default", folder.plan.variants)
    return found


def test_the_function_that_is_dearer_is_named_with_its_part(tmp_path: Path) -> None:
    found = only(run(tmp_path, more=40, calls=1))
    per_request = 40 * PERIOD_NS / REQUESTS
    assert found.duels == 12
    assert found.ci_ns[0] < per_request < found.ci_ns[1]
    assert [each.name for each in culprits(found)] == ["write"], "not log, main or serve"
    clear = {(each.name, each.own) for each in found.frames if each.clear}
    assert clear >= {("write", True), ("write", False), ("log", False)}
    assert not {name for name, _ in clear} & {"parse", "send"}
    assert {each.name for each in found.frames} == set(FRAMES), "a cut stack is no function"
    own = [each for each in found.frames if each.own]
    assert sum(each.variant_ns for each in own) == pytest.approx(found.variant_ns)
    time, calls = because(found, "old", "slices")
    assert "dear spent " in time
    assert " ns more per request than old: " in time
    assert time.endswith(" in write (new), called by log (new) and serve (new).")
    assert calls == "Per request, dear makes 1 [1, 1] more write calls than old."


def test_a_name_that_several_files_have_is_told_of_the_one_with_most_samples(
    tmp_path: Path,
) -> None:
    folder = run(tmp_path, more=40)
    for file in (tmp_path / PROFILES).iterdir():
        duel = Explained.model_validate_json(zstandard.decompress(file.read_bytes()))
        seen = duel.profile.roles["variant/sut"]
        other = Frame(name="write", module="plugin", kind="user")
        profile = duel.profile.model_copy(
            update={
                "frames": [*duel.profile.frames, other],
                "roles": {
                    **duel.profile.roles,
                    "variant/sut": seen.model_copy(
                        update={
                            "samples": [
                                *seen.samples,
                                Sample(stack=[len(duel.profile.frames)], count=1),
                            ]
                        }
                    ),
                },
            }
        )
        changed = duel.model_copy(update={"profile": profile})
        file.write_bytes(zstandard.compress(changed.model_dump_json().encode()))
    assert {each.module for each in only(folder).frames if each.name == "write"} == {"new"}


def test_what_is_cheaper_is_said_to_be_less(tmp_path: Path) -> None:
    time, calls = because(only(run(tmp_path, more=-28, calls=-1)), "old", "slices")
    assert " ns less per request than old: " in time
    assert "-" not in time
    assert calls == "Per request, dear makes 1 [1, 1] fewer write calls than old."


def test_the_price_of_looking_is_that_of_the_second_window(tmp_path: Path) -> None:
    folder = run(tmp_path)
    judged = {trial.id: trial.outcomes["cpu"] for trial in folder.trials if trial.label == "dear"}
    looked = {}
    for trial, duel in explained(folder, "default", "dear"):
        (seen,) = [each for role, each in duel.profile.roles.items() if role == "variant/sut"]
        looked[trial.id] = seen.counts["cpu_ns"] / REQUESTS / 1000
    found = only(folder)
    assert found.price_pct is not None and found.price_ci_pct is not None
    ratios = [100 * (looked[name] / before - 1) for name, before in judged.items() if before]
    assert min(ratios) <= found.price_ci_pct[0] <= found.price_pct <= found.price_ci_pct[1]
    assert found.price_ci_pct[1] <= max(ratios)


def test_the_price_of_looking_is_that_of_the_roles_of_one_outcome(tmp_path: Path) -> None:
    folder = run(tmp_path)
    before = only(folder).price_pct
    both = CPU.model_copy(
        update={
            "value": "role.sut.ordinary_cpu_us + role.backend.ordinary_cpu_us",
            "per": "instrument.requests",
        }
    )
    outcomes = {"both": both, **folder.plan.outcomes}
    plan = folder.plan.model_copy(update={"outcomes": outcomes, "judged": ["both", "cpu"]})
    for file in (tmp_path / PROFILES).iterdir():
        duel = Explained.model_validate_json(zstandard.decompress(file.read_bytes()))
        for side in ("baseline", "variant"):
            duel.profile.roles[f"{side}/backend"] = Seen(counts={"cpu_ns": 10**9})
        file.write_bytes(zstandard.compress(duel.model_dump_json().encode()))
    found = only(replace(folder, plan=plan))
    assert found.baseline_ns > 10**6, "the backend's time is a part of what differs"
    assert found.price_pct == before


def test_equals_have_no_cause(tmp_path: Path) -> None:
    found = only(run(tmp_path))
    assert because(found, "old", "slices") == []
    assert not any(each.clear for each in [*found.frames, *found.counts])


def test_what_another_function_calls_now_is_no_cause() -> None:
    def frame(name: str, before: float, after: float) -> FrameResult:
        more = after - before
        return FrameResult(
            name=name, module="server", kind="user", own=False, baseline_ns=before,
            variant_ns=after, difference_ns=more, ci_ns=(more - 50, more + 50), clear=True,
            callers=["filters (server)"],
        )  # fmt: skip

    cause = CauseResult(
        label="zipped", duels=12, named_share=1, lost_share=0, price_pct=None, price_ci_pct=None,
        baseline_ns=10_000, variant_ns=15_000, difference_ns=5000, ci_ns=(4900, 5100), counts=[],
        frames=[frame("zip", 0, 9000), frame("filters", 6000, 11_000), frame("deflate", 0, 4800)],
    )  # fmt: skip
    assert [each.name for each in culprits(cause)] == ["deflate"]
    (told,) = because(cause, "plain", "slices")
    assert told.endswith(" in deflate (server), called by filters (server).")
    _, lost = because(cause.model_copy(update={"lost_share": 0.081}), "plain", "slices")
    assert lost == (
        "8.1 % of the samples found no room, so what functions of zipped and plain spend is more "
        "than is shown."
    )


def test_the_profilers_own_programs_are_no_cause() -> None:
    source = (ROOT / "crates/profile/src/bpf/profile.bpf.c").read_text()
    programs = re.findall(r"^int (?:BPF_PROG\()?(\w+)[(,)]", source, re.MULTILINE)
    assert {"sample", "switched", "syscall_begins"} <= {*programs}

    def frame(name: str) -> FrameResult:
        return FrameResult(
            name=f"bpf_prog_0123456789abcdef_{name}", module="kernel", kind="kernel", own=True,
            baseline_ns=1000, variant_ns=2000, difference_ns=1000, ci_ns=(900, 1100), clear=True,
        )  # fmt: skip

    cause = CauseResult(
        label="dear", duels=12, named_share=1, lost_share=0, price_pct=None, price_ci_pct=None,
        baseline_ns=10_000, variant_ns=12_000, difference_ns=2000, ci_ns=(1900, 2100), counts=[],
        frames=[*map(frame, [*programs, "follow"]), frame("verdict")],
    )  # fmt: skip
    assert [each.name for each in culprits(cause)] == ["bpf_prog_0123456789abcdef_verdict"]


def test_less_than_half_of_a_roles_difference_is_not_most_of_it() -> None:
    def fields(before: float, after: float) -> dict[str, Any]:
        more = after - before
        return {
            "baseline_ns": before, "variant_ns": after, "difference_ns": more,
            "ci_ns": (more - 50, more + 50), "clear": True,
        }  # fmt: skip

    cause = CauseResult(
        label="moved", duels=12, named_share=1, lost_share=0, price_pct=None, price_ci_pct=None,
        counts=[], **{key: item for key, item in fields(15_000, 13_000).items() if key != "clear"},
        roles=[
            RoleResult(role="sut", **fields(12_000, 8000)),
            RoleResult(role="kernel", **fields(3000, 5000)),
        ],
        frames=[
            FrameResult(name=name, module="m", kind="user", own=False, **fields(*times))
            for name, times in {"pump": (2000, 500), "backlog": (1000, 2500)}.items()
        ],
    )  # fmt: skip
    (told,) = because(cause, "none", "trials")
    assert " less, part of it in pump (m); " in told
    assert told.endswith(" more, most of it in backlog (m).")


def only_counted(folder: RunFolder) -> None:
    """Take from each duel what only the profiler sees; the variant makes one more switch."""
    for file in (folder.path / PROFILES).iterdir():
        duel = Explained.model_validate_json(zstandard.decompress(file.read_bytes()))
        roles = {
            name: Seen(
                counts={
                    "cpu_ns": seen.counts["cpu_ns"],
                    "switch.voluntary": (1 + name.startswith("variant")) * REQUESTS,
                    "queued_ns": 5 * REQUESTS,
                }
            )
            for name, seen in duel.profile.roles.items()
        }
        counted = duel.model_copy(
            update={
                "only_counted": "BPF programs need root",
                "profile": duel.profile.model_copy(update={"frames": [], "roles": roles}),
            }
        )
        file.write_bytes(zstandard.compress(counted.model_dump_json().encode()))


def test_without_a_profiler_counts_are_left_and_the_reason(tmp_path: Path) -> None:
    folder = run(tmp_path, more=40)
    only_counted(folder)
    found = only(folder)
    assert (found.frames, found.named_share) == ([], 0)
    assert {each.name for each in found.counts} == {"switch.voluntary", "queued_ns"}
    time, switches, lacks = because(found, "old", "slices")
    assert " ns more per request than old" in time and "function" not in time
    assert switches == (
        "Per request, dear makes 1 [1, 1] more voluntary context switches than old."
    )
    assert lacks == "Functions and system calls were not seen: BPF programs need root."
    made = results.make(folder)
    page = html.render(folder, made)
    assert "of the samples have" not in page and "No function differs" not in page
    assert lacks.removesuffix(".") in page
    with pytest.raises(ReportError, match="has no stacks"):
        stacks.of_run(folder, made)


def test_counts_that_fell_when_a_process_ended_have_no_price(tmp_path: Path) -> None:
    folder = run(tmp_path)
    only_counted(folder)
    before = only(folder)
    file = min((tmp_path / PROFILES).iterdir())
    duel = Explained.model_validate_json(zstandard.decompress(file.read_bytes()))
    duel.profile.roles["variant/sut"].counts["cpu_ns"] = -5
    file.write_bytes(zstandard.compress(duel.model_dump_json().encode()))
    found = only(folder)
    assert found.duels == before.duels == 12
    assert found.price_pct is not None and found.price_pct != before.price_pct


def test_duels_that_the_profiler_saw_go_before_those_that_were_only_counted(
    tmp_path: Path,
) -> None:
    folder = run(tmp_path, more=40)
    some = sorted((tmp_path / PROFILES).iterdir())[:6]
    kept = {file: file.read_bytes() for file in some}
    only_counted(folder)
    for file, content in kept.items():
        file.write_bytes(content)
    found = only(folder)
    assert (found.duels, found.only_counted) == (6, "")
    assert found.frames


def test_few_duels_have_no_cause(tmp_path: Path) -> None:
    assert causes(run(tmp_path, more=40, blocks=5), "default", ["dear"]) == []


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    folder = run(tmp_path)
    file = next((tmp_path / PROFILES).iterdir())
    file.write_bytes(b"no archive")
    with pytest.raises(NotARun, match=f"{file.name} is damaged"):
        only(folder)
