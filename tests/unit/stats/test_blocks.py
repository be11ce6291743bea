import pytest
from blocked import CLOSED, OPEN, plan, trials, with_status

from tare.stats.blocks import BlockedTrials, planned_trials
from tare.stats.control import judge_control
from tare.stats.ending import comparisons
from tare.stats.plan_order import CONTROL


def test_a_block_holds_every_label_once_in_each_scenario() -> None:
    made = plan()
    for block in range(5):
        found = planned_trials(made, block)
        for scenario in (CLOSED, OPEN):
            labels = [planned.label for planned in found if planned.scenario == scenario.name]
            assert sorted(labels) == sorted([*made.variants, CONTROL])
        assert {s.variant for s in found if s.label == CONTROL} == {"none"}
        assert len({planned.id for planned in found}) == len(found)
    assert planned_trials(made, 3) == planned_trials(plan(), 3)
    orders = {tuple(planned.label for planned in planned_trials(made, block)) for block in range(9)}
    assert len(orders) > 1


def test_values_pair_by_block_and_what_does_not_count_is_left_out() -> None:
    made = plan()
    done = [
        with_status(trial, "invalid")
        if (trial.label, trial.block) in {("one", 1), ("none", 4)}
        else trial
        for trial in trials(made, 8, one=1.5)
    ]
    paired = BlockedTrials(made, CLOSED, done)
    effect = paired.effect("one", "cpu")
    assert effect is not None and effect.n == 6
    assert effect.percent == pytest.approx(50, abs=0.5)
    assert len(paired.values("one", "cpu")) == 7


def test_a_zero_leaves_its_block_out() -> None:
    made = plan()
    zeroed = [
        trial.model_copy(update={"outcomes": {"cpu": 0.0}})
        if (trial.label, trial.block) in {("one", 0), ("none", 1)}
        else trial
        for trial in trials(made, 8)
    ]
    effect = BlockedTrials(made, CLOSED, zeroed).effect("one", "cpu")
    assert effect is not None and effect.n == 6


def test_nothing_in_common_is_no_effect() -> None:
    made = plan()
    done = [trial for trial in trials(made, 3) if trial.label != "none"]
    paired = BlockedTrials(made, CLOSED, done)
    assert paired.effect("one", "cpu") is None and paired.floor("cpu") is None
    assert paired.judge() == {}


def test_a_family_is_a_scenarios_judged_outcomes_times_its_variants() -> None:
    made = plan()
    assert comparisons(made) == 4
    assert BlockedTrials(made, OPEN, []).judged() == ["cpu", "rate"]
    verdicts = BlockedTrials(made, CLOSED, trials(made, 9, one=1.5)).judge()
    assert {key: found.verdict.value for key, found in verdicts.items()} == {
        ("one", "cpu"): "costs",
        ("one", "rate"): "costs",
        ("two", "cpu"): "equivalent",
        ("two", "rate"): "equivalent",
    }


def test_the_control_is_judged_once_for_the_whole_run() -> None:
    made = plan()
    paired = [BlockedTrials(made, scenario, trials(made, 9)) for scenario in made.scenarios]
    found = judge_control(paired)
    judged = [(each.scenario.name, name) for each in paired for name in each.judged()]
    assert list(found) == judged and len(judged) == 4
    assert {item.verdict.value for item in found.values()} == {"equivalent"}
    p_alone = paired[0].effect(CONTROL, "cpu").p  # type: ignore[union-attr]
    assert found["loop=closed", "cpu"].p_adjusted >= p_alone


def test_the_control_is_judged_by_the_study_s_margin() -> None:
    for margin in (1.0, 5.0):
        made = plan(margin_pct=margin)
        paired = BlockedTrials(made, CLOSED, trials(made, 9))
        found = judge_control([paired])[CLOSED.name, "cpu"]
        assert found.why == f"the interval lies within ±{margin:g} %"


def test_without_a_floor_nothing_is_resolved() -> None:
    made = plan()
    done = [trial for trial in trials(made, 9, one=1.5) if trial.label != CONTROL]
    found = BlockedTrials(made, CLOSED, done).judge()["one", "cpu"]
    assert found.verdict.value == "unresolved" and "no noise floor" in found.why


def test_pairs_are_judged_apart_from_the_baseline() -> None:
    made = plan(variants=["none", "one", "two", "three"], judged=["cpu"])
    done = trials(made, 10, one=2.0, two=2.0, three=2.2)
    found = BlockedTrials(made, OPEN, done).judge_pairs()
    assert list(found) == [
        ("two", "one", "cpu"),
        ("three", "one", "cpu"),
        ("three", "two", "cpu"),
    ]
    verdicts = {pair[:2]: judgement.verdict for pair, (_, judgement) in found.items()}
    assert verdicts == {
        ("two", "one"): "equivalent",
        ("three", "one"): "costs",
        ("three", "two"): "costs",
    }
    effect, judgement = found["three", "one", "cpu"]
    assert effect.percent == pytest.approx(10, abs=0.5) and effect.n == 10
    assert judgement.p_adjusted == pytest.approx(min(1.0, 3 * effect.p)), "three pairs, one outcome"
    both = plan(variants=made.variants)
    assert len(BlockedTrials(both, CLOSED, done).judge_pairs()) == 6, "two judged outcomes"


def test_a_pair_is_no_finding_below_the_noise_floor() -> None:
    made = plan()
    done = trials(made, 10, one=1.0, two=1.1, **{CONTROL: 1.2})
    (_, judgement) = BlockedTrials(made, OPEN, done).judge_pairs()["two", "one", "cpu"]
    assert judgement.verdict == "unresolved" and "noise floor" in judgement.why


def test_one_variant_makes_no_pair() -> None:
    made = plan(variants=["none", "one"])
    assert BlockedTrials(made, OPEN, trials(made, 8)).judge_pairs() == {}


def test_a_pair_needs_blocks_in_which_both_counted() -> None:
    made = plan()
    done = [
        with_status(trial, "invalid") if trial.label == ["one", "two"][trial.block % 2] else trial
        for trial in trials(made, 8)
    ]
    assert BlockedTrials(made, OPEN, done).judge_pairs() == {}


def test_a_variant_is_held_against_its_own_baseline() -> None:
    made = plan(
        variants=["none", "other-build", "script", "module"],
        baselines={"script": "other-build"},
        judged=["cpu"],
    )
    done = trials(made, 10, **{"other-build": 1.5, "script": 1.65, "module": 1.1})
    paired = BlockedTrials(made, CLOSED, done)
    effect = paired.effect("script", "cpu")
    assert effect is not None and effect.percent == pytest.approx(10, abs=0.5)
    verdicts = {label: found.verdict.value for (label, _), found in paired.judge().items()}
    assert verdicts == {"other-build": "costs", "script": "costs", "module": "costs"}
    assert paired.judge_pairs() == {}, "nothing of another build is held against ours"
