"""The newest run, which commands call `last`: which one it is, whatever folders are called."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import runs
from click.testing import CliRunner, Result

from tare.cli.main import tare
from tare.report import results
from tare.report.folder import read


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TARE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def run(
    folder: Path, cost: float, environment: dict[str, Any] | None = None, **changes: Any
) -> None:
    plan = runs.plan(**{"run": folder.name} | changes)
    done = runs.trials(plan, 8, {"dear": cost})
    made = results.make(read(runs.write(folder, plan, done, json.dumps(environment or {}))))
    (folder / "results.json").write_text(made.model_dump_json())


def asked(*arguments: object) -> Result:
    return CliRunner().invoke(tare, list(map(str, arguments)))


def reported(*arguments: object) -> tuple[str, str]:
    """The name of the run that is reported, and what is said on standard error."""
    done = asked("report", *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["run"], done.stderr


def test_a_folder_of_that_name_is_given_by_its_path(stored: Path) -> None:
    run(stored / "20260101T000000Z-exp-main", 1.2)
    run(stored.parent / "last", 1.2)
    name, said = reported("last")
    assert name == "20260101T000000Z-exp-main"
    told = f"tare: last is the newest run, {name}; the folder of that name is ./last\n"
    assert said.startswith(told)
    assert reported("./last")[0] == "last"
    assert "the folder of that name is ./last" in asked("compare", "last", "last").stderr


def test_without_runs_the_folder_is_named(stored: Path) -> None:
    run(stored.parent / "last", 1.2)
    refused = asked("report", "last")
    assert "none yet; the folder of that name is ./last; make one" in str(refused.exception)


def test_a_run_that_was_renamed_is_as_old_as_its_plan(stored: Path) -> None:
    run(stored / "20260103T000000Z-exp-main", 1.2)
    run(stored / "before", 1.2, created="2026-01-02T00:00:00+00:00")
    run(stored / "last", 1.2, created="2026-01-01T00:00:00+00:00")
    assert reported("last")[0] == reported()[0] == "20260103T000000Z-exp-main"
    run(stored / "after", 1.2, created="2026-01-03T01:00:01+01:00")
    assert reported("last")[0] == "after"
    assert asked("compare", "last").stdout.startswith("exp: 20260103T000000Z-exp-main, then after")


def test_the_last_run_is_compared_with_the_one_before(stored: Path) -> None:
    assert asked("compare", "last").exit_code != 0, "there is none"
    run(stored / "1", 1.2)
    assert "no run of exp/main before 1" in str(asked("compare", "last").exception)
    run(stored / "2", 1.2, experiment="else")
    run(stored / "3", 1.5)
    (stored / "4").mkdir()
    (stored / "4" / "results.json").write_text("{broken")
    done = asked("compare", "last", "--fail-on", "any")
    assert done.exit_code == 3 and done.stdout.startswith("exp: 1, then 3"), done.output


def test_the_last_duel_is_compared_with_the_last_one_of_its_commands(stored: Path) -> None:
    for name, command in (("1", "./mine"), ("2", "./another"), ("3", "./mine")):
        titles = {"titles": {"none": "./old", "dear": command}}
        run(stored / name, 1.2, titles, experiment="servers", study="duel")
    done = asked("compare", "last")
    assert done.stdout.startswith("servers: 1, then 3"), done.output


def test_a_copy_of_the_last_run_is_not_the_one_before(stored: Path) -> None:
    for name in ("1", "2"):
        run(stored / name, 1.2)
    shutil.copytree(stored / "2", stored / "2-kept")
    assert asked("compare", "last").stdout.startswith("exp: 1, then 2")
