"""What makes `tare run` end with 1."""

from pathlib import Path

import pytest
import runs

from tare.cli.running import sound
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
