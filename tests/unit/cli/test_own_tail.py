"""`tare tail` says when all that it looks at are errors."""

from typing import Any

import pytest
from click.testing import CliRunner

from tare.cli.main import tare
from tare.lab.run import facing, tails
from tare.model.servers import Expected, Servers


def test_answers_that_are_errors_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def face(servers: Servers, *_: Any, **__: Any) -> facing.Faced:
        known = [
            each.model_copy(update={"expected": [Expected(status=404)]}) for each in servers.servers
        ]
        return facing.Faced(servers.model_copy(update={"servers": known}), remarks=["a remark"])

    monkeypatch.setattr(facing, "face", face)
    monkeypatch.setattr(tails, "tails", lambda *_: iter(()))
    command = ["tail", "./server {port}", "--rate", "100", "--get", "/nosuch"]
    done = CliRunner().invoke(tare, command)
    assert done.exit_code == 0, done.output
    assert "tare: a remark\n" in done.output
    assert "tare: server answers 404 to GET /nosuch; if that is not meant, change" in done.output
