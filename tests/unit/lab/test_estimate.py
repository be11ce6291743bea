from pathlib import Path

import projects
import pytest
from projects import plan

from tare.cli.planned import outlook
from tare.lab.project.catalog import Loaded, load
from tare.lab.project.preparation import Prepared
from tare.lab.run.estimate import estimate
from tare.lab.run.store import Store
from tare.model.trial import Trial
from tare.stats.blocks import planned_trials

EVERY = ["loop=open|closed,size=small|large"]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    return load("exp", root=projects.write(tmp_path))


def test_it_counts_the_control_and_every_scenario(loaded: Loaded, tmp_path: Path) -> None:
    made = plan(
        loaded,
        scenarios=EVERY,
        blocks=10,
        overrides={"duration_s": 2.0},
    )
    found = estimate(made, loaded, tmp_path / "runs", Prepared())
    assert found.trials == (4 * 3 * 10, 4 * 3 * 10) and found.overhead_of == "a guess"
    expected = 4 * 3 * (2.0 + loaded.experiment.overhead_s) * 10
    assert found.seconds == pytest.approx((expected, expected))
    found = estimate(plan(loaded), loaded, tmp_path / "runs", Prepared())
    assert found.trials == (3 * 8, 3 * 40)
    assert found.seconds == pytest.approx((3 * 1.8 * 8, 3 * 1.8 * 40))


def test_what_a_variant_does_not_support_takes_no_time(tmp_path: Path) -> None:
    variants = {
        "none": "",
        "other": "[[levels]]\nwhen = 'connections == 8'\nunsupported = 'it has no clock'",
    }
    loaded = load("exp", root=projects.write(tmp_path, variants=variants))
    found = estimate(
        plan(loaded, scenarios=EVERY, blocks=1),
        loaded,
        tmp_path / "runs",
        Prepared(),
    )
    assert found.trials == (2 * 3 + 2 * 2,) * 2


def test_the_latest_runs_say_what_a_trial_takes(loaded: Loaded, tmp_path: Path) -> None:
    made = plan(loaded)
    store = Store.create(tmp_path / "runs", made)
    for number, planned in enumerate([*planned_trials(made, 0), *planned_trials(made, 1)]):
        body = {"attempt": 1, "started": "now", "measured_s": 1.5, "wall_s": 1.5 + 2 * number**2}
        status = {"status": "valid" if number else "failed"}
        store.append([Trial.model_validate(planned.model_dump() | body | status)])
    found = estimate(made, loaded, tmp_path / "runs", Prepared())
    assert (found.overhead_s, found.overhead_of) == (22.0, "5 trials of the latest runs")
    stranger = {"id": "x", "scenario": "of another run"}
    store.append([Trial.model_validate(planned.model_dump() | body | status | stranger)])
    assert estimate(made, loaded, tmp_path / "runs", Prepared()).overhead_s == 22.0
    (store.folder / "trials.jsonl").write_text("{]\n")
    assert estimate(made, loaded, tmp_path / "runs", Prepared()).overhead_of == "a guess"


def test_looks_take_windows_of_their_own(loaded: Loaded, tmp_path: Path) -> None:
    made = plan(loaded, blocks=1)
    looks = made.model_copy(update={"why": True, "tail": True})
    once, looked = (estimate(each, loaded, tmp_path / "runs", Prepared()) for each in (made, looks))
    assert once.seconds[0] == pytest.approx(3 * (1.5 + 0.3))
    assert looked.seconds[0] == pytest.approx(3 * (4 * 1.5 + 0.3))


def test_what_is_made_is_left_out(loaded: Loaded, tmp_path: Path) -> None:
    made = plan(loaded, blocks=10)
    body = {"attempt": 1, "started": "now", "measured_s": 1.5, "wall_s": 2.0}
    status = ("valid", "failed", "invalid")
    before = [
        Trial.model_validate(planned.model_dump() | body | {"status": each})
        for planned, each in zip(planned_trials(made, 0), status, strict=True)
    ]
    whole = estimate(made, loaded, tmp_path / "runs", Prepared())
    left = whole.after(before)
    assert (whole.made, left.made, left.trials) == (0, 2, (28, 28))
    assert left.seconds[0] == pytest.approx(whole.seconds[0] * 28 / 30)
    assert "30 trials, about" in outlook(made, whole)
    assert "2 trials made, 28 more, about" in outlook(made, left)
    assert whole.after(before * 100).seconds == (0, 0)


def test_a_search_takes_as_long_as_its_windows(tmp_path: Path) -> None:
    search = "kind = 'capacity'\nparameter = 'connections'\nlimit = 1\nlow = 1\nhigh = 9\nsteps = 5"
    text = f"{projects.STUDY}\n[analysis]\n{search}\nwindow = {{ duration_s = 0.5 }}\n"
    root = projects.write(tmp_path, more={"search": text})
    once, searched = (
        estimate(plan(each, blocks=1), each, tmp_path / "runs", Prepared())
        for each in (load("exp", root=root), load("exp", "search", root=root))
    )
    assert once.seconds[0] == pytest.approx(3 * (1.5 + 0.3))
    assert searched.seconds[0] == pytest.approx(3 * (10 * 0.5 + 0.3))


def test_a_run_with_a_time_takes_no_longer(loaded: Loaded, tmp_path: Path) -> None:
    made = plan(loaded).model_copy(update={"until": "resolved", "within_s": 60.0})
    found = estimate(made, loaded, tmp_path / "runs", Prepared())
    block_s = found.seconds[1] / (found.trials[1] / found.per_block)
    assert 60 <= found.seconds[1] < 60 + block_s
    assert found.trials[0] <= found.trials[1]
