"""A record holds all that a run's report is made of, and nothing that does not derive from it."""

import json
from pathlib import Path

import pytest
import runs
from click.testing import CliRunner

from tare.cli.main import tare
from tare.lab.paths import ROOT
from tare.model.trial import Gate
from tare.report import export, html, results, stored
from tare.report.errors import NotARun
from tare.report.folder import read
from tare.report.gates import gates

RECORDS = sorted(file.parent for file in ROOT.glob("record/*/trials.jsonl.zst"))
MOST_BYTES = 8 << 20


@pytest.fixture
def record(tmp_path: Path) -> Path:
    plan = runs.plan()
    folder = read(runs.write(tmp_path / "run", plan, runs.trials(plan, 9, {"dear": 1.2})))
    target = tmp_path / "record"
    written = list(export.write("record", folder, results.make(folder), target))
    assert {file.name for file in written} == {
        "plan.json", "environment.json", "trials.jsonl.zst", "results.json", "report.html",
        "picture.svg", "latencies.json",
    }  # fmt: skip
    return target


def test_a_record_is_read_as_its_run_is(record: Path, tmp_path: Path) -> None:
    first, again = read(tmp_path / "run"), read(record)
    assert again.plan == first.plan and again.environment == first.environment
    assert results.make(again) == results.make(first), "latencies from histograms included"


def test_it_derives_from_its_trials_byte_for_byte(record: Path) -> None:
    folder = read(record)
    found = results.make(folder)
    assert stored.text(found) == (record / "results.json").read_text()
    assert html.render(folder, found) == (record / "report.html").read_text()
    assert (record / "results.json").read_text().count("\n") == 1


def test_a_slim_record_has_the_same_verdicts_in_less_room(tmp_path: Path) -> None:
    plan = runs.plan()
    gate = Gate(name="steal", kind="machine", ok=True, found="0 %", wanted="at most 10 %")
    full = {"gates": [gate], "instrument": {"outcomes": {"requests": 1}}, "machine": {"x": 0.5}}
    done = [trial.model_copy(update=full) for trial in runs.trials(plan, 9, {"dear": 1.2})]
    refused = {"status": "invalid", "reason": "steal: 20 %", "label": "dear", "block": 9}
    done.append(done[0].model_copy(update={**refused, "id": "b9-s0-dear"}))
    folder = read(runs.write(tmp_path / "run", plan, done))
    for form in ("record", "slim-record"):
        list(export.write(form, folder, results.make(folder), tmp_path / form))
    whole, slim = (read(tmp_path / form) for form in ("record", "slim-record"))
    first, again = results.make(whole), results.make(slim)
    assert again.answers == first.answers != []
    assert stored.text(again) == (tmp_path / "slim-record" / "results.json").read_text()
    page = html.render(slim, again)
    assert page == (tmp_path / "slim-record" / "report.html").read_text()
    (used,) = gates(slim.trials)
    assert used.judged is None, "of most of its trials nobody knows"
    assert not slim.trials[0].instrument and slim.trials[-1].gates == [gate]
    sizes = [(each.path / "trials.jsonl.zst").stat().st_size for each in (whole, slim)]
    assert sizes[0] > sizes[1]


def test_a_slim_record_of_slopes_has_their_windows(tmp_path: Path) -> None:
    plan = runs.plan(outcomes={"ns": runs.NS, "cpu": runs.CPU}, judged=["ns"], shown=[])
    folder = read(runs.write(tmp_path / "run", plan, runs.dosed(plan, 9, {"dear": 0.05})))
    made = results.make(folder)
    list(export.write("slim-record", folder, made, tmp_path / "slim"))
    again = results.make(read(tmp_path / "slim"))
    (before,), (after,) = made.scenarios[0].slopes, again.scenarios[0].slopes
    one, other = before.variants["dear"], after.variants["dear"]
    assert other.slope == pytest.approx(one.slope, rel=1e-4)
    assert other.intercept == pytest.approx(one.intercept, rel=1e-4), "six digits are kept"
    assert [each.dose for each in other.growth] == list(runs.DOSES)


@pytest.mark.parametrize("command", [("report",), ("export", "--format", "csv"), ("compare",)])
def test_commands_that_take_a_run_take_a_record(record: Path, command: tuple[str, ...]) -> None:
    name, *options = command
    arguments = [str(record)] * (2 if name == "compare" else 1)
    done = CliRunner().invoke(tare, [name, *arguments, *options])
    assert done.exit_code == 0, done.output


def test_damaged_trials_are_named(record: Path) -> None:
    (record / "trials.jsonl.zst").write_bytes(b"no such thing")
    with pytest.raises(NotARun, match=r"trials\.jsonl\.zst"):
        read(record)


@pytest.mark.parametrize("folder", RECORDS, ids=lambda folder: str(folder.name))
def test_each_record_of_the_project_derives_from_its_trials(folder: Path) -> None:
    run = read(folder)
    found = results.make(run)
    assert stored.text(found) == (folder / "results.json").read_text()
    assert html.render(run, found) == (folder / "report.html").read_text()
    revision = json.loads((folder / "environment.json").read_text())["revision"]
    assert revision["commit"], "which code it is of"


def test_all_records_are_small() -> None:
    files = [file for file in (ROOT / "record").rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES


def test_a_record_without_trials_says_where_its_table_is(tmp_path: Path) -> None:
    (tmp_path / "table.txt").write_text("x")
    with pytest.raises(NotARun, match=r"its trials were not kept, and .*table\.txt has what they"):
        read(tmp_path)


def test_a_record_in_the_folder_of_its_run_is_refused(record: Path, tmp_path: Path) -> None:
    folder = read(tmp_path / "run")
    for form in ("record", "slim-record"):
        with pytest.raises(export.CannotExport, match="is the run's own folder; name another"):
            list(export.write(form, folder, results.make(folder), tmp_path / "run"))
    packed = read(record)
    list(export.write("record", packed, results.make(packed), record))
