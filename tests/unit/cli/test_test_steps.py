"""The steps of `tare test`."""

import pytest

from tare.cli.test import packages, steps
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
    assert {"nghttp2-server", "nodejs"} <= set(packages(ROOT))
    assert all(name.replace("-", "").isalnum() for name in packages(ROOT))
