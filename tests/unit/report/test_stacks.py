"""Stacks for flame graphs, of built duels."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_causes import PERIOD_NS, REQUESTS, run

from tare.model.profile import PROFILES
from tare.model.scenario import Scenario
from tare.report import export, results, stacks
from tare.report.errors import ReportError
from tare.report.folder import read

WRITE = ";".join(f"{name} ({{0}})" for name in ("main", "serve", "log", "write"))


def counted(file: Path) -> dict[str, int]:
    lines = [line.rsplit(" ", 1) for line in file.read_text().splitlines()]
    return {stack: int(count) for stack, count in lines}


def test_each_side_has_its_stacks(tmp_path: Path) -> None:
    folder = run(tmp_path, more=40)
    files = list(export.write("folded", folder, results.make(folder), tmp_path / "out"))
    assert [file.name for file in files] == [
        "default-dear-baseline.folded",
        "default-dear-variant.folded",
    ]
    before, after = (
        counted(file)[f"…;{WRITE.format(module)}"]
        for file, module in zip(files, ("old", "new"), strict=True)
    )
    assert before == pytest.approx(12 * 30, rel=0.2)
    assert after == pytest.approx(12 * 70, rel=0.2)


@pytest.mark.parametrize(("form", "suffix"), [("folded", "folded"), ("pprof", "pb.gz")])
def test_a_scenario_of_a_path_is_no_folder(tmp_path: Path, form: str, suffix: str) -> None:
    made = run(tmp_path)
    name = "path=/index.html"
    folder = replace(
        made,
        plan=made.plan.model_copy(update={"scenarios": [Scenario(name=name, parameters={})]}),
        trials=[trial.model_copy(update={"scenario": name}) for trial in made.trials],
    )
    files = list(export.write(form, folder, results.make(folder), tmp_path / "out"))
    assert [file.name for file in files] == [
        f"path=-index.html-dear-{side}.{suffix}" for side in ("baseline", "variant")
    ]
    assert all(file.parent == tmp_path / "out" for file in files)


def test_two_scenarios_of_one_plain_name_have_files_of_their_own(tmp_path: Path) -> None:
    made = run(tmp_path)
    names = ("path=/a/b", "path=/a-b")
    folder = replace(
        made,
        plan=made.plan.model_copy(
            update={"scenarios": [Scenario(name=name, parameters={}) for name in names]}
        ),
        trials=[
            trial.model_copy(update={"scenario": name}) for trial in made.trials for name in names
        ],
    )
    files = list(export.write("folded", folder, results.make(folder), tmp_path / "out"))
    assert sorted(file.name for file in files) == [
        "path=-a-b-dear-baseline-2.folded", "path=-a-b-dear-baseline.folded",
        "path=-a-b-dear-variant-2.folded", "path=-a-b-dear-variant.folded",
    ]  # fmt: skip


def test_speedscope_has_cpu_time_per_request(tmp_path: Path) -> None:
    folder = run(tmp_path)
    found = results.make(folder)
    (file,) = export.write("speedscope", folder, found, tmp_path / "out")
    written = json.loads(file.read_text())
    assert [each["name"] for each in written["profiles"]] == [
        "default-dear-baseline",
        "default-dear-variant",
    ]
    (cause,) = found.scenarios[0].causes
    for profile, ns in zip(written["profiles"], (cause.baseline_ns, cause.variant_ns), strict=True):
        assert sum(profile["weights"]) == pytest.approx(profile["endValue"]) == pytest.approx(ns)
        assert len(profile["samples"]) == len(profile["weights"]) == 4
    titles = [each["name"] for each in written["shared"]["frames"]]
    assert titles[written["profiles"][0]["samples"][0][-1]].endswith(" (old)")
    assert ns > PERIOD_NS / REQUESTS


def test_a_run_that_was_not_looked_at_says_so(tmp_path: Path) -> None:
    folder = run(tmp_path, blocks=1)
    for file in (tmp_path / PROFILES).iterdir():
        file.unlink()
    with pytest.raises(ReportError, match="seen with --why, as root"):
        stacks.of_run(folder, results.make(folder))


def test_a_record_keeps_the_causes(tmp_path: Path) -> None:
    folder = run(tmp_path, more=40)
    found = results.make(folder)
    list(export.write("record", folder, found, tmp_path / "record"))
    again = results.make(read(tmp_path / "record"))
    assert found.scenarios[0].causes
    assert again.scenarios[0].causes == found.scenarios[0].causes


def test_a_record_keeps_nothing_of_the_run_that_was_there_before(tmp_path: Path) -> None:
    target = tmp_path / "record"
    other = run(_made(tmp_path / "other"), more=40, blocks=14)
    list(export.write("record", other, results.make(other), target))
    (target / "picture.svg").write_text("old")
    (target / "README.md").write_text("my own")
    folder = run(_made(tmp_path / "run"), blocks=2)
    list(export.write("record", folder, results.make(folder), target))
    kept = {file.name for file in (target / PROFILES).iterdir()}
    assert kept == {file.name for file in (folder.path / PROFILES).iterdir()}
    for file in (folder.path / PROFILES).iterdir():
        file.unlink()
    list(export.write("record", folder, results.make(folder), target))
    assert not list((target / PROFILES).iterdir())
    assert not (target / "picture.svg").exists() or (target / "picture.svg").read_text() != "old"
    assert (target / "README.md").read_text() == "my own"


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
