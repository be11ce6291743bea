from pathlib import Path
from typing import Any

import projects
import pytest

from tare.lab.errors import UnknownName
from tare.lab.project.catalog import Loaded, load
from tare.lab.run import planning
from tare.lab.run.store import Store
from tare.model.trial import Plan


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    return load("exp", projects.write(tmp_path))


def plan(loaded: Loaded, **changes: Any) -> Plan:
    asked: dict[str, Any] = {
        "quick": False,
        "variants": None,
        "scenarios": [],
        "blocks": None,
        "seed": 3,
        "overrides": {},
    }
    return planning.make(loaded, **asked | changes)


def test_a_plan_takes_what_the_experiment_says(loaded: Loaded) -> None:
    made = plan(loaded)
    assert made.variants == ["none", "other"] and made.baseline == "none"
    assert [scenario.name for scenario in made.scenarios] == ["loop=closed,size=small"]
    assert (made.blocks.min, made.blocks.max, made.seed) == (8, 40, 3)
    assert made.parameters["duration_s"] == 1.5 and made.overrides == {}
    assert made.run.endswith("Z-exp")


def test_quick_changes_what_it_says(loaded: Loaded) -> None:
    made = plan(loaded, quick=True)
    assert made.variants == ["none", "other"]
    assert (made.blocks.min, made.blocks.max) == (3, 3)
    assert made.parameters["duration_s"] == 0.5
    assert [scenario.name for scenario in made.scenarios] == ["loop=open,size=small"]
    assert plan(loaded, quick=True, variants=["none"]).variants == ["none"]
    assert len(plan(loaded, quick=True, scenarios=["all"]).scenarios) == 4
    assert plan(loaded, quick=True, blocks=5).blocks.max == 5


def test_seeds_differ_unless_given(loaded: Loaded) -> None:
    seeds = {plan(loaded, seed=None).seed for _ in range(5)}
    assert len(seeds) == 5 and all(0 <= seed < 2**32 for seed in seeds)


def test_the_command_line_wins_over_levels_and_levels_over_parameters(loaded: Loaded) -> None:
    made = plan(loaded, scenarios=["loop=open"])
    (scenario,) = made.scenarios
    assert planning.parameters_of(made, loaded, scenario)["connections"] == 8
    made = plan(loaded, scenarios=["loop=open"], overrides={"connections": "2"})
    assert planning.parameters_of(made, loaded, scenario)["connections"] == 2


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("connections", "3", 3),
        ("connections", 3.0, 3),
        ("duration_s", "2", 2.0),
        ("duration_s", 2, 2.0),
        ("on", "TRUE", True),
        ("on", False, False),
        ("name", "true", "true"),
        ("name", 5, "5"),
    ],
)
def test_overrides_take_the_declared_type(
    loaded: Loaded, name: str, given: Any, taken: Any
) -> None:
    found = planning.checked(loaded, {name: given})[name]
    assert found == taken and type(found) is type(taken)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("connections", "many", "parameter connections: found 'many', expected int"),
        ("connections", "1.5", "parameter connections: found '1.5', expected int"),
        ("connections", 0.5, "parameter connections: found 0.5, expected int"),
        ("duration_s", "", "parameter duration_s: found '', expected float"),
        ("on", "yes", "parameter on: found 'yes', expected bool"),
        ("sizes", "12", "parameter sizes: a list cannot be set on the command line"),
        ("speed", "1", "exp has no parameter 'speed'; it has: duration_s, connections, name, on, "),
    ],
)
def test_overrides_that_do_not_fit_are_refused(
    loaded: Loaded, name: str, given: Any, message: str
) -> None:
    with pytest.raises(UnknownName) as caught:
        planning.checked(loaded, {name: given})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("scenarios", "message"),
    [
        (["loop"], "exp: scenario 'loop': expected FACTOR=LEVEL"),
        (["speed=1"], "exp: no factor 'speed'"),
        (["loop=x"], "exp: factor 'loop' has no level 'x'"),
    ],
)
def test_scenarios_that_do_not_exist_are_refused(
    loaded: Loaded, scenarios: list[str], message: str
) -> None:
    with pytest.raises(UnknownName, match=f"^{message}"):
        plan(loaded, scenarios=scenarios)


def test_all_scenarios_are_those_that_the_experiment_calls_sensible(tmp_path: Path) -> None:
    more = (
        "scenarios = [{ loop = 'closed' }]\nmore = [{ loop = 'open', size = ['small', 'large'] }]"
    )
    text = projects.EXPERIMENT.replace("[parameters]", f"{more}\n[parameters]", 1)
    made = load("exp", projects.write(tmp_path, experiment=text))
    names = [scenario.name for scenario in plan(made, scenarios=["all"]).scenarios]
    assert names == [
        "loop=closed,size=small", "loop=open,size=small", "loop=open,size=large",
    ]  # fmt: skip
    assert [scenario.name for scenario in plan(made).scenarios] == names[:1]


def test_runs_of_the_same_second_have_folders_of_their_own(loaded: Loaded, tmp_path: Path) -> None:
    made = plan(loaded)
    stores = [Store.create(tmp_path / "runs", made) for _ in range(3)]
    assert [store.folder.name for store in stores] == [made.run, f"{made.run}-2", f"{made.run}-3"]
    assert [store.plan().run for store in stores] == [store.folder.name for store in stores]
