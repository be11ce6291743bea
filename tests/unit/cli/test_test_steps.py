"""The steps of `tare test`."""

import pytest

from tare.cli.test import packages, steps
from tare.lab.paths import ROOT


@pytest.mark.parametrize("arguments", [(), ("tests/unit", "-k", "x")])
def test_thorough_tests_are_run_where_all_are_asked_for(arguments: tuple[str, ...]) -> None:
    usual = steps(everything=False, arguments=arguments)["python"]
    every = steps(everything=True, arguments=arguments)["python"]
    assert len(usual) == len(every) and not any("--thorough" in argv for argv in usual)
    assert [[*argv, "--thorough"] for argv in usual] == list(every)


def test_arguments_go_to_pytest_which_runs_once() -> None:
    (only,) = steps(everything=False, arguments=("tests/unit",))["python"]
    assert only[-2:] == ["pytest", "tests/unit"]


def test_packages_that_tests_can_do_without_are_listed() -> None:
    assert {"nghttp2-server", "nodejs"} <= set(packages(ROOT))
    assert all(name.replace("-", "").isalnum() for name in packages(ROOT))
