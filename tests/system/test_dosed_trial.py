"""Dose and response as a trial of a run, and another instrument for a study."""

import pytest
from laboratory import Laboratory

pytestmark = pytest.mark.system


def test_a_slope_is_one_trial_of_many_windows(lab: Laboratory) -> None:
    text = lab.tare("run", "search/dose")
    by_label = {trial.label: trial for trial in lab.trials()}
    plain, weak = by_label["plain"], by_label["weak"]
    assert plain.outcomes["each"] == pytest.approx(0.001), "asked is the dose"
    assert weak.outcomes["each"] == pytest.approx(0.1), "asked is a hundred times the dose"
    windows = plain.instrument["slope"]["windows"]
    doses = [window["dose"] for window in windows]
    assert sorted(doses[:3]) == sorted(doses[3:]) == [100, 200, 400]
    assert [window["response"] for window in windows] == doses
    assert plain.measured_s >= 6 * 0.04
    assert plain.status == "valid", "the audit counts the requests of all windows"
    (scenario,) = lab.results()["scenarios"]
    assert "each" not in scenario["variants"]["plain"]["outcomes"]
    (slope,) = scenario["slopes"]
    assert slope["variants"]["weak"]["slope"] == pytest.approx(0.1)
    assert slope["variants"]["weak"]["verdict"] == "unresolved", "one block has no interval"
    assert "slope of Rate that was asked for over rate 100 to 400" in text


def test_a_study_may_bring_another_instrument(lab: Laboratory) -> None:
    lab.tare("run", "search/other", "--variants", "plain")
    assert {trial.outcomes["asked"] for trial in lab.trials()} == {7.0}
    assert all("each" not in trial.outcomes for trial in lab.trials())
