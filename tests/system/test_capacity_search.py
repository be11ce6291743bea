"""A search for capacity as a trial of a run: windows counted, one number, or none."""

import json

import pytest
from laboratory import Laboratory

pytestmark = pytest.mark.system


def test_a_search_is_one_trial_with_one_number(lab: Laboratory) -> None:
    text = lab.tare("run", "search/capacity", code=1)
    found = {trial.label: trial for trial in lab.trials()}
    searched, weak = found["plain"], found["weak"]
    assert searched.status == "valid", "the audit counts the requests of all windows"
    assert searched.outcomes["capacity"] == pytest.approx(500, rel=0.35)
    windows = searched.instrument["capacity"]["windows"]
    assert len(windows) >= 4 and {window["held"] for window in windows} == {True, False}
    assert searched.measured_s >= 0.05 * len(windows)
    assert weak.status == "invalid", weak.reason
    assert weak.outcomes["capacity"] is None
    assert str(weak.reason).startswith("range: not even ")
    (result,) = lab.results()["scenarios"]
    assert result["variants"]["plain"]["outcomes"]["capacity"]["blocks"] == 1
    assert text.count("Highest rate, 1/s") == 1


def test_the_default_studies_are_a_run_each(lab: Laboratory) -> None:
    text = lab.tare("run", "search", "--rate", "200", "--variants", "plain", code=0)
    plans = [json.loads(file.read_text()) for file in sorted(lab.runs.glob("*/plan.json"))]
    assert {plan["study"] for plan in plans} == {"once", "capacity"}
    assert all(plan["scenarios"][0]["levels"]["rate"] == "200.0" for plan in plans)
    assert "search/once: " in text and "search/capacity: " in text
