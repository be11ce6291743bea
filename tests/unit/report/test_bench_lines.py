"""Benches of a run in sentences."""

from pathlib import Path

import pytest
import runs

from tare.model.results import Results
from tare.model.trial import Plan, Trial
from tare.report import benches, notes, results
from tare.report.folder import RunFolder

PLACES = ("left", "middle", "right")


def found(factor_of: dict[str, float], slow: dict[str, float]) -> Results:
    """A run of 18 blocks whose effect and whose machine depend on the bench."""
    plan: Plan = runs.plan()
    made: list[Trial] = []
    for trial in runs.trials(plan, 18, {}):
        bench = PLACES[trial.block % 3]
        cost = 10 * runs.noise(trial.block, trial.label) * slow.get(bench, 1.0)
        if trial.label == "dear":
            cost *= factor_of.get(bench, 1.2)
        outcomes = {"cpu": cost, "rate": 1000 / cost}
        made.append(trial.model_copy(update={"bench": bench, "outcomes": outcomes}))
    return results.make(RunFolder(Path("r"), plan, made, {}))


def test_benches_make_their_blocks_at_the_same_time() -> None:
    made = runs.trials(runs.plan(), 18, {})
    alone = results.make(RunFolder(Path("r"), runs.plan(), made, {}))
    assert found({}, {}).block_s == alone.block_s / len(PLACES) > 0


def test_like_benches_are_counted_and_the_next_is_predicted() -> None:
    told = list(benches.lines(found({}, {})))
    assert told[0] == "Blocks by bench: left 6, middle 6 and right 6."
    assert len(told) == 2, told
    assert told[1].startswith("One more bench like these would show +20 % to +20 % for dear's CPU")


def test_a_slow_bench_is_named_and_changes_no_verdict() -> None:
    one = found({}, {"right": 1.2})
    told = list(benches.lines(one))
    assert told[1].startswith("Bench right is not like the others: the baseline's CPU differs ")
    assert "+20" in told[1]
    for each in (one, found({}, {})):
        assert each.scenarios[0].variants["dear"].outcomes["cpu"].verdict == "costs"


def test_an_effect_that_depends_on_the_bench_is_told_by_bench() -> None:
    told = list(benches.lines(found({"left": 1.5}, {})))
    (line,) = [line for line in told if "depends on the bench" in line]
    assert "left +50" in line and "right +20" in line
    assert line in notes.notes(found({"left": 1.5}, {}))


def test_a_run_on_one_machine_says_nothing() -> None:
    plan = runs.plan()
    one = results.make(RunFolder(Path("r"), plan, runs.trials(plan, 9, {}), {}))
    assert one.benches is None and list(benches.lines(one)) == []


def test_a_baseline_beside_each_of_several_is_taken_with_all_of_its_sides() -> None:
    """Beside one of two variants the baseline is 20 % slower on a bench: 9.5 % in the mean."""
    plan = runs.plan(pairing="slices", variants=["none", "dear", "same"])
    made: list[Trial] = []
    for own in runs.trials(plan, 18, {}):
        bench = PLACES[own.block % 3]
        slow = 1.2 if (bench, own.label) == ("right", "dear") else 1.0
        base = {"label": f"none@{own.label}", "variant": "none", "id": f"{own.id}-base"}
        for side, change in (({}, 1.0), (base, slow)):
            cost = 10 * change * runs.noise(own.block, f"{own.label}{change}")
            given = {"bench": bench, "outcomes": {"cpu": cost, "rate": 1000 / cost}}
            made.append(own.model_copy(update={**side, **given}))
    one = results.make(RunFolder(Path("r"), plan, made, {})).benches
    assert one is not None
    level = next(each for each in one.levels if each.bench == "right")
    assert level.differs_pct == pytest.approx(9.5, abs=0.5)


@pytest.mark.parametrize("label", ["cpu"])
def test_its_figures_have_intervals(label: str) -> None:
    one = found({}, {}).benches
    assert one is not None
    (spread,) = [each for each in one.spreads if each.outcome == label]
    for effect in spread.by_bench.values():
        low, high = effect.ci_pct
        assert low < effect.effect_pct < high
