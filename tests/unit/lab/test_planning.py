from pathlib import Path
from typing import Any

import projects
import pytest
from projects import plan

from tare.lab.errors import UnknownName
from tare.lab.project.catalog import Loaded, load
from tare.lab.run import planning
from tare.lab.run.store import Store
from tare.model.trial import Plan


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    return load("exp", root=projects.write(tmp_path))


def test_a_plan_takes_what_the_experiment_says(loaded: Loaded) -> None:
    made = plan(loaded)
    assert made.variants == ["none", "other"] and made.baseline == "none"
    assert [scenario.name for scenario in made.scenarios] == ["loop=closed,size=small"]
    assert (made.blocks.min, made.blocks.max, made.seed) == (8, 40, 3)
    assert made.scenarios[0].parameters["duration_s"] == 1.5 and made.overrides == {}
    assert made.run.endswith("Z-exp-main") and made.study == "main"


def test_a_width_that_is_asked_for_takes_as_many_blocks_as_it_needs(loaded: Loaded) -> None:
    made = plan(loaded, resolve_pct=0.5, within_s=90.0)
    assert (made.blocks.min, made.blocks.max) == (8, 1000)
    assert (made.blocks.target_half_width_pct, made.within_s) == (0.5, 90.0)
    assert made.until == "narrow"


SLOPE = """
[analysis]
kind = "slope"
parameter = "connections"
doses = [1, 2]
outcome = "cpu"

[outcomes.growth]
title = "Growth"
unit = "s"
better = "lower"
value = "analysis.slope"
"""


@pytest.mark.parametrize("asked", [{"until": "resolved"}, {"resolve_pct": 0.5}])
@pytest.mark.parametrize(
    ("judged", "more", "message"),
    [
        ('shown = ["cpu"]', "", "it judges nothing"),
        ('judged = ["growth"]', SLOPE, r"it judges slopes \(growth\)"),
    ],
)
def test_a_run_that_would_wait_for_nothing_is_refused(
    tmp_path: Path, asked: dict[str, Any], judged: str, more: str, message: str
) -> None:
    """It would end after its first block, and say that all was resolved."""
    study = projects.STUDY.replace('judged = ["cpu"]', judged) + more
    other = load("exp", root=projects.write(tmp_path, study=study))
    assert plan(other).until == "narrow"
    with pytest.raises(UnknownName, match=message):
        plan(other, **asked)


def test_slopes_beside_ratios_are_not_looked_at_after_every_block(tmp_path: Path) -> None:
    study = projects.STUDY.replace('judged = ["cpu"]', 'judged = ["cpu", "growth"]') + SLOPE
    other = load("exp", root=projects.write(tmp_path, study=study))
    assert plan(other, resolve_pct=0.5).until == "narrow"
    with pytest.raises(UnknownName, match="judges slopes"):
        plan(other, until="resolved")


def test_quick_changes_what_it_says(loaded: Loaded) -> None:
    made = plan(loaded, quick=True)
    assert made.variants == ["none", "other"]
    assert (made.blocks.min, made.blocks.max) == (3, 3)
    assert made.scenarios[0].parameters["duration_s"] == 0.5
    assert [scenario.name for scenario in made.scenarios] == ["loop=open,size=small"]
    assert plan(loaded, quick=True, variants=["none"]).variants == ["none"]
    assert plan(loaded, quick=True, blocks=5).blocks.max == 5


def test_seeds_differ_unless_given(loaded: Loaded) -> None:
    seeds = {plan(loaded, seed=None).seed for _ in range(5)}
    assert len(seeds) == 5 and all(0 <= seed < 2**32 for seed in seeds)


def test_the_command_line_wins_over_levels_and_levels_over_parameters(loaded: Loaded) -> None:
    made = plan(loaded, scenarios=["loop=open"])
    assert made.scenarios[0].parameters["connections"] == 8
    made = plan(loaded, scenarios=["loop=open"], overrides={"connections": "2"})
    assert made.scenarios[0].parameters["connections"] == 2


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
        ("connections", "many", "parameter connections: found 'many', expected a whole number"),
        ("connections", "1.5", "parameter connections: found '1.5', expected a whole number"),
        ("connections", 0.5, "parameter connections: found 0.5, expected a whole number"),
        ("duration_s", "", "parameter duration_s: found '', expected a number"),
        ("on", "yes", "parameter on: found 'yes', expected true or false"),
        ("sizes", "12", "parameter sizes: a list cannot be set on the command line"),
        (
            "speed",
            "1",
            "exp/main has no parameter 'speed'; it has: duration_s, connections, name, on, ",
        ),
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
        (["loop"], "exp/main: scenario 'loop': expected FACTOR=LEVEL"),
        (["speed=1"], "exp/main: no factor 'speed'"),
        (["loop=x"], "exp/main: factor 'loop' has no level 'x'"),
    ],
)
def test_scenarios_that_do_not_exist_are_refused(
    loaded: Loaded, scenarios: list[str], message: str
) -> None:
    with pytest.raises(UnknownName, match=f"^{message}"):
        plan(loaded, scenarios=scenarios)


def test_all_scenarios_are_those_that_the_study_lists(tmp_path: Path) -> None:
    more = (
        "scenarios = [{ loop = 'closed' }]\n"
        "extended = [{ loop = 'open', size = ['small', 'large'] }]\n"
    )
    text = projects.STUDY.replace("[factors.loop", f"{more}\n[factors.loop", 1)
    made = load("exp", root=projects.write(tmp_path, study=text))
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


def named(made: Plan) -> list[str]:
    return [scenario.name for scenario in made.scenarios]


def test_an_override_is_a_part_of_what_a_scenario_is(loaded: Loaded) -> None:
    made = plan(loaded, scenarios=["loop=open"], overrides={"connections": 3, "name": "b"})
    assert named(made) == ["loop=3,size=small,name=b"]
    assert made.scenarios[0].levels == {"loop": "3", "size": "small", "name": "b"}
    assert made.scenarios[0].parameters["connections"] == 3
    assert named(plan(loaded, overrides={"connections": 8})) == [
        "loop=closed,size=small,connections=8"
    ]


def test_how_long_is_measured_is_no_part_of_it(loaded: Loaded) -> None:
    assert named(plan(loaded, overrides={"duration_s": 9})) == ["loop=closed,size=small"]


def test_scenarios_that_an_override_makes_equal_are_refused(tmp_path: Path) -> None:
    text = projects.STUDY.replace("closed = {}", "closed = { connections = 2 }")
    made = load("exp", root=projects.write(tmp_path, study=text))
    assert len(named(plan(made, scenarios=["loop=closed|open"]))) == 2
    with pytest.raises(UnknownName, match="with connections=3 several scenarios are the same"):
        plan(made, scenarios=["loop=closed|open"], overrides={"connections": 3})


def test_excluded_combinations_do_not_exist(tmp_path: Path) -> None:
    text = projects.STUDY.replace(
        "[factors.loop.levels]", 'exclude = "connections == 8 and on"\n\n[factors.loop.levels]'
    ).replace("large = {}", "large = { on = true }")
    made = load("exp", root=projects.write(tmp_path, study=text))
    assert named(plan(made, scenarios=["loop=closed|open,size=small|large"])) == [
        "loop=closed,size=small", "loop=closed,size=large", "loop=open,size=small",
    ]  # fmt: skip
    with pytest.raises(UnknownName, match="exclude all that was chosen"):
        plan(made, scenarios=["loop=open,size=large"])


def test_a_variant_may_be_compared_with_another_than_the_baseline(tmp_path: Path) -> None:
    variants = {"none": "", "other": "", "script": 'baseline = "other"'}
    made = load("exp", root=projects.write(tmp_path, variants=variants))
    found = plan(made, variants=["script"])
    assert found.variants == ["none", "other", "script"], "what it is compared with is measured"
    assert found.baselines == {"script": "other"}
    assert (found.baseline_of("script"), found.baseline_of("other")) == ("other", "none")


def test_a_study_without_a_quick_version_says_so(tmp_path: Path) -> None:
    text = projects.STUDY[: projects.STUDY.index("[quick]")]
    made = load("exp", root=projects.write(tmp_path, study=text))
    with pytest.raises(UnknownName, match="exp/main has no quick version"):
        plan(made, quick=True)


def test_a_duel_is_refused_more_threads_than_one(tmp_path: Path) -> None:
    experiment = projects.EXPERIMENT.replace("[parameters]", "[parameters]\nthreads = 1")
    study = projects.STUDY.replace('judged = ["cpu"]', 'judged = ["cpu"]\npairing = "slices"')
    loaded = load("exp", root=projects.write(tmp_path, experiment=experiment, study=study))
    assert plan(loaded, overrides={"threads": 1}).pairing == "slices"
    with pytest.raises(UnknownName, match="a duel has one thread of load"):
        plan(loaded, overrides={"threads": 2})
    assert plan(loaded, overrides={"threads": 2}, pairing="trials").pairing == "trials"


def test_every_study_has_a_number_of_generators_and_a_duel_has_one(tmp_path: Path) -> None:
    study = projects.STUDY.replace('judged = ["cpu"]', 'judged = ["cpu"]\npairing = "slices"')
    loaded = load("exp", root=projects.write(tmp_path, study=study))
    found = plan(loaded, overrides={"generators": "2"}, pairing="trials")
    assert [each.parameters["generators"] for each in found.scenarios] == [2]
    assert found.scenarios[0].name.endswith("generators=2")
    assert "generators" not in plan(loaded).scenarios[0].parameters, "runs stay comparable"
    with pytest.raises(UnknownName, match="a duel has one generator"):
        plan(loaded, overrides={"generators": 2})
    with pytest.raises(UnknownName, match="parameter generators: found 0"):
        plan(loaded, overrides={"generators": 0}, pairing="trials")


def test_a_level_may_set_the_number_of_generators(tmp_path: Path) -> None:
    study = projects.STUDY.replace("{ connections = 8 }", "{ connections = 8, generators = 2 }")
    found = plan(load("exp", root=projects.write(tmp_path, study=study)), scenarios=["loop=open"])
    assert [each.parameters["generators"] for each in found.scenarios] == [2]


def test_any_study_of_single_windows_can_be_paired_otherwise(
    loaded: Loaded, tmp_path: Path
) -> None:
    assert (plan(loaded).pairing, plan(loaded, pairing="slices").pairing) == ("trials", "slices")
    slope = 'kind = "slope"\nparameter = "connections"\ndoses = [1, 2]\noutcome = "cpu"'
    study = f"{projects.STUDY}\n[analysis]\n{slope}\n"
    dosed = load("exp", root=projects.write(tmp_path / "dosed", study=study))
    with pytest.raises(UnknownName, match="several windows"):
        plan(dosed, pairing="slices")


def test_why_is_asked_where_a_second_window_tells(loaded: Loaded, tmp_path: Path) -> None:
    assert plan(loaded, why=True).why
    with pytest.raises(UnknownName, match="--tail looks at duels, and this study makes trials"):
        plan(loaded, tail=True)
    study = projects.STUDY.replace('judged = ["cpu"]', 'judged = ["growth"]') + SLOPE
    slopes = load("exp", root=projects.write(tmp_path / "slopes", study=study))
    with pytest.raises(UnknownName, match="its trials have several windows of their own"):
        plan(slopes, why=True)
    with pytest.raises(UnknownName, match="the first one reads the cold objects"):
        plan(load("cache", "stall"), why=True)
    generator = load("loadgen")
    with pytest.raises(UnknownName, match="it judges the load generator"):
        plan(generator, why=True)
