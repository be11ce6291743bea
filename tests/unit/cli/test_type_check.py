"""Every program of an experiment has its types checked, and no two modules of a name at once."""

from pathlib import Path

from tare.cli.type_check import commands
from tare.lab.paths import ROOT


def test_each_folder_is_checked_by_itself(tmp_path: Path) -> None:
    for name in ("e/hooks.py", "e/more.py", "e/variants/v/hooks.py", "e/variants/w/v.toml"):
        file = tmp_path / "experiments" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    found = [(command[1], command[5:]) for command in commands(tmp_path)]
    assert found == [
        ("MYPYPATH=src:experiments/e", ["experiments/e/hooks.py", "experiments/e/more.py"]),
        ("MYPYPATH=src:experiments/e", ["experiments/e/variants/v/hooks.py"]),
    ]


def test_no_hook_and_no_instrument_is_left_out() -> None:
    checked = {file for command in commands(ROOT) for file in command[5:]}
    patterns = ("*/hooks.py", "*/variants/*/hooks.py", "*/variants/*/instrument.py", "*/harness.py")
    for pattern in patterns:
        for file in (ROOT / "experiments").glob(pattern):
            assert str(file.relative_to(ROOT)) in checked
