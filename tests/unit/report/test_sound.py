"""What makes `tare run` end with 1."""

from pathlib import Path

import pytest
import runs

from tare.cli.running import _replace, sound
from tare.model.results import Results
from tare.report import results
from tare.report.folder import read


def found(folder: Path, factors: dict[str, float]) -> Results:
    made = runs.plan(variants=["none", "dear", "same"])
    return results.make(read(runs.write(folder / "run", made, runs.trials(made, 8, factors))))


def test_a_variant_that_costs_is_a_sound_result(tmp_path: Path) -> None:
    assert sound(found(tmp_path, {"dear": 1.2}))


def test_an_alarm_of_the_control_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not sound(found(tmp_path, {"control": 1.2}))
    assert "the A/A control differs from the baseline in cpu" in capsys.readouterr().err


def test_a_file_is_replaced_whole_or_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "results.json"
    _replace(file, "one")

    def full(self: Path, text: str, encoding: str) -> None:
        self.write_bytes(text.encode(encoding)[:1])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        _replace(file, "two")
    assert file.read_text() == "one"
    assert [each.name for each in tmp_path.iterdir()] == ["results.json"]
