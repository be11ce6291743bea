"""The one of fifty functions that does more leads what `tare duel --why` finds."""

import os
import shutil
from pathlib import Path

import pytest
from why_ranking import built, compared

from tare.report.why import culprits

pytestmark = [
    pytest.mark.system,
    pytest.mark.thorough,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at processes"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]
ATTEMPTS = 6


def test_a_function_that_does_as_much_again_as_all_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARE_RUNS", str(tmp_path))
    program = built(tmp_path)
    for seed in range(ATTEMPTS):
        try:
            cause, _ = compared(
                program, f"{program} {{port}} 37 100", duels=7, seed=seed, duration=0.3
            )
            break
        except LookupError:  # other work disturbed more than one of the duels
            continue
    assert next(each.name for each in cause.frames if each.own) == "work_37"
    assert [each.name for each in culprits(cause)] == ["work_37"]
