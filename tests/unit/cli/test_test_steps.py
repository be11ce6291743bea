"""The steps of `tare test`."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tare.cli import test as steps_of_test
from tare.cli.test import command, packages, run, steps
from tare.lab.errors import Interrupted
from tare.lab.paths import ROOT

ALONE = "pytest.mark." + "alone"


@pytest.mark.parametrize("arguments", [(), ("tests/unit", "-k", "x")])
def test_thorough_tests_are_run_where_all_are_asked_for(arguments: tuple[str, ...]) -> None:
    usual = steps(everything=False, arguments=arguments)["python"]
    every = steps(everything=True, arguments=arguments)["python"]
    assert len(usual) == len(every) and not any("--thorough" in argv for argv in usual)
    assert [[*argv, "--thorough"] for argv in usual] == list(every)


def test_arguments_go_to_pytest_which_runs_once() -> None:
    (only,) = steps(everything=False, arguments=("tests/unit",))["python"]
    assert only[-2:] == ["pytest", "tests/unit"]


def test_every_test_is_run_by_one_of_the_pytests() -> None:
    first, second, alone = steps(everything=False)["python"]
    apart = [each.removeprefix("--ignore=") for each in first if each.startswith("--ignore=")]
    assert apart and set(apart) < set(second)
    tests = ROOT / "tests"
    folders = {f"tests/{file.relative_to(tests).parts[0]}" for file in tests.glob("*/**/test_*.py")}
    assert folders == {*first, *second} & {f"tests/{path.name}" for path in tests.iterdir()}
    for folder in folders - set(alone):
        marked = [file for file in (ROOT / folder).rglob("test_*.py") if ALONE in file.read_text()]
        assert not marked


def test_every_test_file_has_a_name_of_its_own() -> None:
    """pytest imports them by their names."""
    names = [file.name for file in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_packages_that_tests_can_do_without_are_listed() -> None:
    usual, every = (set(packages(ROOT, everything=everything)) for everything in (False, True))
    assert {"nghttp2-server", "nodejs"} <= usual
    assert every - usual >= {"chromium", "qemu-system-arm"}
    assert all(name.replace("-", "").isalnum() for name in every)


TWO = """
import os, pathlib, pytest
def test_starves():
    seen = pathlib.Path("{seen}")
    first = not seen.exists()
    seen.touch()
    assert "PYTEST_XDIST_WORKER" not in os.environ or not first
def test_is_wrong():
    assert {right}
"""


@pytest.mark.parametrize(("right", "code"), [(True, 0), (False, 1)])
def test_tests_that_fail_among_others_are_run_alone_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: bool, code: int
) -> None:
    file = tmp_path / "test_two.py"
    file.write_text(TWO.format(seen=tmp_path / "seen", right=right))
    argv = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:timeout", str(file)]
    monkeypatch.setattr(steps_of_test, "_STEPS", {"python": (argv,)})
    monkeypatch.setattr(steps_of_test, "_PYTEST", argv[:3])
    monkeypatch.setattr("tare.lab.project.catalog.load", lambda name: None)
    monkeypatch.setattr("tare.lab.project.index.experiment_names", list)
    monkeypatch.setattr("tare.lab.project.requirements.meet", lambda *_: None)
    monkeypatch.setattr(steps_of_test, "ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "packages.txt").touch()
    told = CliRunner().invoke(command, [])
    assert told.exit_code == code, told.output
    named = "failed among other tests, passed alone: test_two.py::test_starves" in told.output
    assert named == right


def test_a_step_that_is_stopped_may_clean_up(tmp_path: Path) -> None:
    left = tmp_path / "cleaned"
    program = (
        "import signal, sys, time, pathlib\n"
        "def stop(*_):\n"
        f"    time.sleep(0.3); pathlib.Path({str(left)!r}).touch(); sys.exit(3)\n"
        "signal.signal(signal.SIGINT, stop)\n"
        f"pathlib.Path({str(tmp_path / 'up')!r}).touch()\n"
        "time.sleep(60)\n"
    )

    def stop() -> None:
        while not (tmp_path / "up").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop).start()
    with pytest.raises(Interrupted, match="SIGTERM"):
        run([sys.executable, "-c", program], os.environ)
    assert left.exists()
