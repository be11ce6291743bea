"""The Python interface on records: what it has is what the records have."""

import sys
from pathlib import Path

import click
import polars
import pytest

import tare
from tare.api import _words
from tare.lab.paths import ROOT
from tare.report.errors import ReportError

RECORD = ROOT / "record" / "filters-price"


def test_a_run_is_read_with_its_answers_and_tables() -> None:
    run = tare.load_run(RECORD)
    assert run.results.experiment == "filters"
    rows = run.rows("slopes")
    assert {row["variant"] for row in rows} >= {"none", "c-module", "control"}
    frame = run.frame("slopes")
    assert frame.height == len(rows)
    assert frame.schema["slope"] == polars.Float64 and frame.schema["blocks"] == polars.Int64
    with pytest.raises(KeyError):
        run.rows("other")


def test_what_is_no_run_is_refused(tmp_path: object) -> None:
    with pytest.raises(tare.ReportError, match="is not the folder of a run"):
        tare.load_run(str(tmp_path))
    assert issubclass(ReportError, tare.ReportError)


def test_a_server_that_does_not_start_raises_an_error_that_has_a_name() -> None:
    with pytest.raises(tare.TareError, match=r"no process listens on port 1 of 127\.0\.0\.1"):
        tare.duel("http://127.0.0.1:1/", "http://127.0.0.1:2/")


def test_options_are_those_of_the_command_line() -> None:
    words = _words({"rate": 5000, "saturated": True, "name": ["a", "b"], "against": "main"})
    assert words == [
        "--rate", "5000", "--saturated", "--name", "a", "--name", "b", "--against", "main",
    ]  # fmt: skip
    assert _words({"saturated": False, "within": None}) == []
    assert _words({"replay": Path("access.log")}) == ["--replay", "access.log"]
    with pytest.raises(click.UsageError, match="--speed"):
        tare.duel("a", "b", speed=5)
    with pytest.raises(click.UsageError, match="expected two or more"):
        tare.duel("a")


def test_commands_do_not_pay_for_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        tare.other  # noqa: B018
    assert "tare" in sys.modules
