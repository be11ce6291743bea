"""Every study of every experiment states the parameters that were really used."""

from collections.abc import Iterator
from typing import Any

import pytest

from tare.lab.errors import UnknownName
from tare.lab.project import catalog
from tare.lab.project.catalog import Loaded
from tare.lab.project.index import experiment_names, study_names
from tare.lab.run import planning
from tare.model.scenario import EFFORT

STUDIES = [
    catalog.load(name, study)
    for name in experiment_names()
    for study in study_names(catalog.load(name).folder)
]


def changed(value: Any) -> Any:
    """Another value of the same type, None where the command line can set none."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 3
        case str():
            return f"{value}x"
    return None


def overrides() -> Iterator[Any]:
    for loaded in STUDIES:
        for factor, each in loaded.study.factors.items():
            level, parameters = next(iter(each.levels.items()))
            for name, value in parameters.items():
                if name not in EFFORT and (other := changed(value)) is not None:
                    label = f"{loaded.title} {factor}={level} {name}"
                    yield pytest.param(loaded, factor, level, name, other, id=label)


@pytest.mark.parametrize(("loaded", "factor", "level", "name", "value"), list(overrides()))
def test_an_override_is_in_the_scenario_s_name(
    loaded: Loaded, factor: str, level: str, name: str, value: Any
) -> None:
    scenario = planning.scenario_at(loaded, {factor: level}, {name: value})
    assert scenario.parameters[name] == value
    assert scenario.levels[factor] != level, "it is not that level any more"
    said = scenario.levels[factor]
    other = loaded.study.factors[factor].levels.get(said, {})
    assert str(value) in said or other.get(name) == value
    assert f"{factor}={said}" in scenario.name


@pytest.mark.parametrize("loaded", STUDIES, ids=lambda loaded: str(loaded.title))
def test_every_parameter_that_can_be_set_reaches_the_scenario(loaded: Loaded) -> None:
    for name, value in loaded.study.parameters.items():
        other = changed(value)
        if other is None or "{{" in str(value):
            continue
        try:
            scenario = planning.scenario_at(loaded, {}, {name: other})
        except UnknownName as error:
            assert "exclude" in str(error)  # the other value is one that the study excludes
            continue
        assert scenario.parameters[name] == other
        levels = [
            factor.levels.get(scenario.levels[key], {})
            for key, factor in loaded.study.factors.items()
        ]
        named = any(level.get(name) == other for level in levels)
        assert named or name in EFFORT or str(other) in scenario.name


@pytest.mark.parametrize("loaded", STUDIES, ids=lambda loaded: str(loaded.title))
def test_a_study_is_short_and_its_scenarios_can_be_planned(loaded: Loaded) -> None:
    file = loaded.folder / "studies" / f"{loaded.study_name}.toml"
    assert len(file.read_text().splitlines()) <= 200
    plan = planning.make(
        loaded, quick=False, variants=None, scenarios=["all"], blocks=1, seed=1, overrides={}
    )
    assert len({scenario.name for scenario in plan.scenarios}) == len(plan.scenarios)
