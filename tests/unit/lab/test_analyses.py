"""Analyses are found by their kinds, and change none of what they are given."""

from collections.abc import Mapping
from typing import Any, get_args

from tare.lab.trial.analysis.compare import Compare
from tare.lab.trial.analysis.protocol import About
from tare.lab.trial.analysis.registry import ANALYSES, chosen
from tare.lab.trial.measure import Measurement
from tare.model import analysis
from tare.model.instrument import Result
from tare.model.trial import Gate

SETTINGS = analysis.Analysis(
    capacity=analysis.Capacity(only={"loop": ["capacity"]}, limit=1, low=1, high=2),
    slope=[
        analysis.Slope(only={"loop": ["dose"]}, parameter="dose", doses=[1, 2], outcome="cpu"),
        analysis.Slope(parameter="n", doses=[1, 2], outcome="cpu"),
    ],
)


def test_every_kind_has_an_analysis() -> None:
    kinds = [analysis.Compare, analysis.Capacity, analysis.Slope]
    named = [get_args(kind.model_fields["kind"].annotation)[0] for kind in kinds]
    assert list(ANALYSES) == named


def test_a_scenario_has_the_first_analysis_whose_levels_it_has() -> None:
    found: Any = [chosen(SETTINGS, {"loop": loop}) for loop in ("capacity", "dose", "other")]
    assert [each.settings for each in found] == [SETTINGS.capacity, *SETTINGS.slope]
    assert isinstance(chosen(analysis.Analysis(), {}), Compare)


def test_to_compare_is_one_window() -> None:
    answer = {"event": "result", "schema": 1, "instrument": "x", "window_s": 0.5, "outcomes": {}}
    result = Result.model_validate(answer)
    gate = Gate(name="steal", kind="machine", ok=True, found="", wanted="")

    def take(own: Mapping[str, Any]) -> Measurement:
        assert own == {}
        return Measurement(own, result, None, None, {}, {})  # type: ignore[arg-type]

    about = About("exp", seed=1, parameters={}, retries=2)
    found = chosen(analysis.Analysis(), {}).run(take, lambda made: [gate], lambda *_: None, about)
    assert [window.result for window in found.windows] == [found.measurement.result] == [result]
    assert (found.measured_s, found.gates, found.values, found.notes) == (0.5, [gate], {}, {})
