"""Completion as shells ask for it: by the words so far and the number of the one under way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tare.cli import main


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARE_RUNS", str(tmp_path))
    for name in ("20260101T000000Z-filters", "20260102T000000Z-filters"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.json").touch()
    return tmp_path


def completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str
) -> list[str]:
    """What a shell offers for the last of `words`."""
    monkeypatch.setenv("_TARE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit):
        main.main()
    lines = capsys.readouterr().out.split()
    return [line.removeprefix("plain,") for line in lines]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("tare res", ["resume", "restart"]),
        ("tare run fil", ["filters"]),
        ("tare run filters/st", ["filters/steady"]),
        ("tare up filters/c-m", ["filters/c-module"]),
        ("tare show filters/lu", ["filters/lua-nginx", "filters/luajit"]),
        ("tare run filters --variants c-m", ["c-module"]),
        ("tare run filters/price --variants njs,c-m", ["njs,c-module"]),
        ("tare run filters --baseline none-", ["none-debian"]),
        ("tare run filters --dry", ["--dry-run"]),
        ("tare setup filters/", []),
        ("tare report 2026", ["20260102T000000Z-filters", "20260101T000000Z-filters"]),
        ("tare resume la", ["last"]),
    ],
)
def test_names_are_completed(
    stored: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    offered: list[str],
) -> None:
    assert sorted(completed(monkeypatch, capsys, words)) == sorted(offered)


def test_the_line_of_the_readme_is_a_shell_s() -> None:
    environment = os.environ | {"_TARE_COMPLETE": "bash_source"}
    made = subprocess.run(
        [sys.executable, "-m", "tare"], env=environment, capture_output=True, text=True, check=False
    )
    subprocess.run(["bash", "-n"], input=made.stdout, text=True, check=True)
    assert "complete -o nosort -F _tare_completion tare" in made.stdout
