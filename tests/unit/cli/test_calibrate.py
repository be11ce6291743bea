"""`tare calibrate` that is stopped says what becomes of what it measured."""

from pathlib import Path

import pytest

from tare.cli import calibrate, running
from tare.lab.errors import Interrupted
from tare.lab.run.store import Store


def test_a_calibration_that_is_stopped_names_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(_: Store) -> None:
        raise Interrupted("stopped by SIGINT")

    monkeypatch.setenv("TARE_RUNS", str(tmp_path))
    monkeypatch.setattr(running, "execute", execute)
    with pytest.raises(Interrupted):
        calibrate.command.main(["--within", "1m"], standalone_mode=False)
    (folder,) = tmp_path.iterdir()
    said = capsys.readouterr().err
    assert "begin again with: tare calibrate\n" in said
    assert f"what was measured is in {folder}, which you may remove\n" in said
