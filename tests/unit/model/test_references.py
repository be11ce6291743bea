from typing import Any

from tare.model.manifest import Experiment, Variant
from tare.model.references import of_experiment, of_variant


def experiment(**changes: Any) -> Experiment:
    fields: dict[str, Any] = {
        "schema": 1,
        "title": "t",
        "question": "q",
        "baseline": "none",
        "parameters": {"rate": 5, "size": 1},
        "factors": {
            "loop": {"levels": {"closed": {}, "open": {"rate": 9}}},
            "body": {"levels": {"small": {"size": 1}, "large": {"size": 9}}},
        },
        "outcomes": {
            "cpu": {
                "title": "CPU",
                "unit": "µs",
                "better": "lower",
                "value": "role.sut.cpu_us",
                "only": {"loop": ["open"]},
            }
        },
        "scenarios": [{"loop": ["closed", "open"], "body": "small"}],
        "quick": {"parameters": {"rate": 1}, "scenarios": [{"body": "large"}]},
    }
    return Experiment.model_validate(fields | changes)


def variant(**supports: list[str]) -> Variant:
    return Variant.model_validate(
        {
            "schema": 1,
            "title": "v",
            "version": {"argv": ["v"], "pattern": "(.*)"},
            "roles": {},
            "instrument": {"argv": ["i"], "spec": {}},
            "supports": supports,
        }
    )


def test_what_is_there_is_accepted() -> None:
    assert list(of_experiment(experiment())) == []
    assert list(of_variant(variant(loop=["open"], body=["small", "large"]), experiment())) == []


def test_parameters_must_be_declared() -> None:
    found = experiment(
        quick={"parameters": {"raet": 1}},
        factors={"loop": {"levels": {"closed": {"siez": 2}}}, "body": {"levels": {"small": {}}}},
        outcomes={},
        scenarios=[{}],
    )
    assert list(of_experiment(found)) == [
        "quick.parameters: found 'raet', expected one of: rate, size",
        "factors.loop.levels.closed: found 'siez', expected one of: rate, size",
    ]


def test_factors_and_levels_must_exist() -> None:
    outcome = {"title": "CPU", "unit": "µs", "better": "lower", "value": "instrument.x"}
    found = experiment(
        outcomes={"cpu": outcome | {"only": {"lop": ["open"], "loop": ["opne"]}}},
        scenarios=[{"body": ["small", "huge"]}],
        quick={"scenarios": [{"bodi": "small"}]},
    )
    assert list(of_experiment(found)) == [
        "outcomes.cpu.only: found 'lop', expected one of: loop, body",
        "outcomes.cpu.only.loop: found 'opne', expected one of: closed, open",
        "scenarios.body: found 'huge', expected one of: small, large",
        "quick.scenarios: found 'bodi', expected one of: loop, body",
    ]


def test_a_variant_supports_what_there_is() -> None:
    assert list(of_variant(variant(loop=["half-open"], body=["large"]), experiment())) == [
        "supports.loop: found 'half-open', expected one of: closed, open"
    ]


def test_differences_are_between_levels_that_there_are() -> None:
    settings = {"log": {"closed": "off", "opne": "on"}}
    found = variant().model_copy(update={"differences": {"loop": settings, "lop": settings}})
    assert list(of_variant(found, experiment())) == [
        "differences: 'log'.loop: found 'opne', expected one of: closed, open",
        "differences: 'log': found 'lop', expected one of: loop, body",
    ]


def test_an_analysis_and_more_scenarios_name_what_there_is() -> None:
    settings = {"limit": 1, "low": 1, "high": 2, "parameter": "raet", "only": {"loop": ["opne"]}}
    found = experiment(analysis={"capacity": settings}, more=[{"loop": "shut"}])
    assert list(of_experiment(found)) == [
        "analysis.capacity.only.loop: found 'opne', expected one of: closed, open",
        "analysis.capacity.parameter: found 'raet', expected one of: rate, size",
        "more.loop: found 'shut', expected one of: closed, open",
    ]


def test_a_slope_names_a_parameter_and_an_outcome_that_there_are() -> None:
    settings = {"parameter": "dsoe", "doses": [1, 2], "outcome": "cup", "only": {"loop": ["opne"]}}
    found = experiment(analysis={"slope": [settings]})
    assert list(of_experiment(found)) == [
        "analysis.slope.0.only.loop: found 'opne', expected one of: closed, open",
        "analysis.slope.0.parameter: found 'dsoe', expected one of: rate, size",
        "analysis.slope.0.outcome: found 'cup', expected one of: cpu",
    ]


def test_where_an_outcome_is_and_what_a_variant_is_without() -> None:
    outcome = {"title": "CPU", "unit": "µs", "better": "lower", "value": "instrument.x"}
    found = experiment(outcomes={"cpu": outcome | {"within": {"loop": ["opne"]}}})
    assert list(of_experiment(found)) == [
        "outcomes.cpu.within.loop: found 'opne', expected one of: closed, open"
    ]
    lacking = variant().model_copy(update={"without": {"loop": {"opne": "why"}, "lop": {"x": "y"}}})
    assert list(of_variant(lacking, experiment())) == [
        "without.loop: found 'opne', expected one of: closed, open",
        "without: found 'lop', expected one of: loop, body",
    ]
