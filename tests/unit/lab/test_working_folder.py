"""Folders of commands that look at servers before a run: none stays, also after kill -9."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tare.cli.main import tare
from tare.lab.run.working_folder import working_folder

SCRIPT = """
from tare.lab.run.working_folder import working_folder
with working_folder() as home:
    print(home, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARE_RUNS", str(tmp_path))
    return tmp_path


def begun() -> tuple["subprocess.Popen[str]", Path]:
    """A command that has such a folder until its input ends."""
    pipe = subprocess.PIPE
    command = subprocess.Popen([sys.executable, "-c", SCRIPT], stdin=pipe, stdout=pipe, text=True)
    assert command.stdout is not None
    return command, Path(command.stdout.readline().strip())


def test_it_goes_with_its_command(runs: Path) -> None:
    with working_folder() as home:
        assert home.parent == runs and home.stat().st_mode & 0o777 == 0o755
    assert list(runs.iterdir()) == []


def test_that_of_a_killed_command_goes_at_the_next_start(runs: Path) -> None:
    living, its_own = begun()
    killed, left = begun()
    with killed:
        killed.kill()
    earlier, notes = runs / "own-0a1b2c3d", runs / "own-notes"
    for folder in (earlier, notes):
        folder.mkdir()
        (folder / "events.log").write_text("")
    (runs / "own-01234567").mkdir()
    assert left.exists() and its_own.exists()
    with working_folder():
        assert not left.exists(), "its command is dead"
        assert not earlier.exists(), "of a version that had no locks"
        assert its_own.exists(), "its command still runs"
        assert notes.exists() and (runs / "own-01234567").exists(), "not made by tare"
    with living:
        living.communicate("\n")
    assert not its_own.exists()


def test_it_is_no_run(runs: Path) -> None:
    command, left = begun()
    with command:
        command.kill()
    for arguments in (["history"], ["history", "--json"], ["compare", "last", "last"]):
        done = CliRunner().invoke(tare, arguments)
        assert left.name not in done.output
    assert json.loads(CliRunner().invoke(tare, ["history", "--json"]).output)["runs"] == []
