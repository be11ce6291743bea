"""Analyses are found by their kinds, and change none of what they are given."""

from collections.abc import Mapping
from typing import Any, get_args

from tare.lab.trial.analysis.compare import Compare
from tare.lab.trial.analysis.protocol import About
from tare.lab.trial.analysis.registry import ANALYSES, of
from tare.lab.trial.analysis.slope import Slope
from tare.lab.trial.measure import Measurement
from tare.model import analysis
from tare.model.instrument import Result
from tare.model.trial import Gate


def test_every_kind_has_an_analysis() -> None:
    kinds = [analysis.Compare, analysis.Capacity, analysis.Slope]
    named = [get_args(kind.model_fields["kind"].annotation)[0] for kind in kinds]
    assert list(ANALYSES) == named


def test_a_study_s_analysis_is_found_by_its_kind() -> None:
    settings = analysis.Slope(kind="slope", parameter="n", doses=[1, 2], outcome="cpu")
    found = of(settings)
    assert isinstance(found, Slope) and found.settings is settings
    assert isinstance(of(analysis.Compare()), Compare)


def test_to_compare_is_one_window() -> None:
    answer = {"event": "result", "schema": 1, "instrument": "x", "window_s": 0.5, "outcomes": {}}
    result = Result.model_validate(answer)
    gate = Gate(name="steal", kind="machine", ok=True, found="", wanted="")

    def take(own: Mapping[str, Any]) -> Measurement:
        assert own == {}
        return Measurement(own, result, None, None, {}, {})  # type: ignore[arg-type]

    about = About("exp", seed=1, parameters={}, retries=2)
    found = of(analysis.Compare()).run(take, lambda made: [gate], lambda *_: None, about)
    assert [window.result for window in found.windows] == [found.measurement.result] == [result]
    assert (found.measured_s, found.gates, found.values, found.notes) == (0.5, [gate], {}, {})
