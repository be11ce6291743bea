"""`tare tail` says what its figures lack, and any name as it is."""

from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from tare.cli.main import tare
from tare.lab.run import facing, tails
from tare.model.servers import Expected, Servers
from tare.model.tail import Tail

COMMAND = ["tail", "./server {port}", "--rate", "100", "--get", "/nosuch"]


@pytest.fixture
def faced(monkeypatch: pytest.MonkeyPatch) -> None:
    def face(servers: Servers, *_: Any, **__: Any) -> facing.Faced:
        known = [
            each.model_copy(update={"expected": [Expected(status=404)]}) for each in servers.servers
        ]
        return facing.Faced(servers.model_copy(update={"servers": known}), remarks=["a remark"])

    monkeypatch.setattr(facing, "face", face)


@pytest.mark.usefixtures("faced")
def test_answers_that_are_errors_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "tails", lambda *_: iter(()))
    done = CliRunner().invoke(tare, COMMAND)
    assert done.exit_code == 0, done.output
    assert "tare: a remark\n" in done.output
    assert "tare: server answers 404 to GET /nosuch; if that is not meant, change" in done.output


@pytest.mark.usefixtures("faced")
def test_dropped_times_and_names_like_marks_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [{"cause": "run_queue", "who": "[/job]", "slow_ns": 9e6, "ordinary_ns": 0.0}]
    tail = Tail.model_validate(
        {
            "requests": 50, "of": 50_120, "from_ns": 2_000_000, "parts": parts, "lost": 0,
            "slow_ns": 9e6, "ordinary_ns": 0.0,
        }
    )  # fmt: skip
    result = SimpleNamespace(outcomes={}, errors={}, times_dropped=3)
    looked = tails.Looked("server", tail, result)  # type: ignore[arg-type]
    monkeypatch.setattr(tails, "tails", lambda *_: iter([looked]))
    done = CliRunner().invoke(tare, COMMAND)
    assert done.exit_code == 0, done.exception
    assert "[/job] had the server's CPU" in done.stdout
    assert "The times of 3 answers found no room" in done.stdout
    as_json = CliRunner().invoke(tare, [*COMMAND, "--json"]).stdout
    assert "The times of 3 answers found no room" in as_json
