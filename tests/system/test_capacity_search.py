"""A search for capacity as a trial of a run: windows counted, one number, or none."""

import pytest
from laboratory import Laboratory

pytestmark = pytest.mark.system


def test_a_search_is_one_trial_with_one_number(lab: Laboratory) -> None:
    text = lab.tare("run", "search", code=1)
    found = {(trial.scenario, trial.label): trial for trial in lab.trials()}
    once, searched = found["loop=once", "plain"], found["loop=capacity", "plain"]
    assert once.status == searched.status == "valid", "the audit counts the requests of all windows"
    assert once.outcomes["capacity"] is None and "capacity" not in once.instrument
    assert searched.outcomes["capacity"] == pytest.approx(500, rel=0.35)
    windows = searched.instrument["capacity"]["windows"]
    assert len(windows) >= 4 and {window["held"] for window in windows} == {True, False}
    assert searched.measured_s >= 0.05 * len(windows)
    weak = found["loop=capacity", "weak"]
    assert weak.status == "invalid", weak.reason
    assert weak.outcomes["capacity"] is None
    assert str(weak.reason).startswith("capacity: not even ")
    once_result, searched_result = lab.results()["scenarios"]
    assert "capacity" not in once_result["variants"]["plain"]["outcomes"]
    assert searched_result["variants"]["plain"]["outcomes"]["capacity"]["blocks"] == 1
    assert text.count("Highest rate, 1/s") == 1
