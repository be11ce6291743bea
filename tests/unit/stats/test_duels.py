"""Duels: what is planned, and how both sides of each are paired."""

import pytest
from blocked import CLOSED, plan

from tare.model.trial import Plan, Trial
from tare.stats.blocks import BlockedTrials, planned_trials
from tare.stats.control import judge_control
from tare.stats.plan_order import CONTROL

DUELS = plan(pairing="slices", baselines={"two": "other"}, variants=["none", "other", "one", "two"])
DRIFT = (1.0, 3.0, 0.2, 7.0, 1.5, 0.9, 4.0, 2.2)


def duels(made: Plan, blocks: int, **factors: float) -> list[Trial]:
    """Both sides of every duel; between duels the machine is never the same."""
    found = []
    for block in range(blocks):
        for number, planned in enumerate(planned_trials(made, block)):
            mood = 10 * DRIFT[(block + number) % len(DRIFT)]
            noise = 1 + 0.001 * ((block + number) % 3)
            base = planned.side(made.baseline_of(planned.label))
            for each, value in (
                (base, mood * factors.get(base.variant, 1.0)),
                (planned, mood * noise * factors.get(planned.label, 1.0)),
            ):
                head = each.model_dump() | {"attempt": 1, "started": "now", "wall_s": 1}
                body = {"status": "valid", "outcomes": {"cpu": value, "rate": value}}
                found.append(Trial.model_validate(head | body))
    return found


def test_a_block_of_duels_has_one_for_each_variant_but_the_baseline() -> None:
    found = [each for each in planned_trials(DUELS, 0) if each.scenario == CLOSED.name]
    assert sorted(each.label for each in found) == sorted(["other", "one", "two", CONTROL])
    control = next(each for each in found if each.label == CONTROL)
    assert control.variant == "none"
    side = control.side("none")
    assert (side.label, side.variant, side.id) == (
        f"none@{CONTROL}",
        "none",
        f"{control.id}-base",
    )


def test_effects_are_within_the_duel_whatever_lies_between_duels() -> None:
    paired = BlockedTrials(DUELS, CLOSED, duels(DUELS, 8, one=1.02, other=1.5, two=1.5 * 1.1))
    one, two, other = (paired.effect(label, "cpu") for label in ("one", "two", "other"))
    assert one is not None and one.n == 8 and one.percent == pytest.approx(2, abs=0.2)
    assert one.spread < 0.002
    assert two is not None and two.percent == pytest.approx(10, abs=0.2)
    assert other is not None and other.percent == pytest.approx(50, abs=0.2)
    floor = paired.floor("cpu")
    assert floor is not None and floor.percent is not None and floor.percent < 0.3
    verdicts = paired.judge()
    assert verdicts["one", "cpu"].verdict == "costs"
    control = judge_control([paired])[CLOSED.name, "cpu"]
    assert control.verdict not in ("costs", "saves")


def test_two_variants_are_compared_by_their_duels_with_the_baseline() -> None:
    made = plan(pairing="slices")
    paired = BlockedTrials(made, CLOSED, duels(made, 8, one=1.2, two=1.5))
    effect = paired.between("two", "one", "cpu")
    assert effect is not None and effect.percent == pytest.approx(25, abs=0.3)
    assert effect.spread < 0.003


def test_a_duel_of_which_one_side_does_not_count_is_left_out() -> None:
    made = plan(pairing="slices")
    done = [
        trial.model_copy(update={"status": "invalid"})
        if (trial.label, trial.block) in {("none@one", 2), ("one", 5)}
        else trial
        for trial in duels(made, 8)
    ]
    effect = BlockedTrials(made, CLOSED, done).effect("one", "cpu")
    assert effect is not None and effect.n == 6


def test_the_baseline_is_shown_by_all_its_sides() -> None:
    made = plan(pairing="slices")
    done = duels(made, 2)
    paired = BlockedTrials(made, CLOSED, done)
    own = [trial for trial in done if trial.scenario == CLOSED.name]
    assert {trial.shown_as for trial in own} == {"none", "one", "two", CONTROL}
    assert len(paired.values("none", "cpu")) == 2 * 3
    assert paired.effect("none", "cpu") is None


def test_what_a_running_process_uses_is_judged_without_a_control() -> None:
    made = plan(pairing="slices")
    used = made.outcomes["cpu"].model_copy(update={"value": "role.sut.cpu_us"})
    running = made.model_copy(update={"running": True, "outcomes": {**made.outcomes, "cpu": used}})
    done = [
        trial.model_copy(update={"outcomes": {**trial.outcomes, "cpu": None}})
        if CONTROL in trial.label
        else trial
        for trial in duels(running, 12, one=1.5)
    ]
    assert BlockedTrials(running, CLOSED, done).judge()["one", "cpu"].verdict == "costs"
    started = running.model_copy(update={"running": False})
    assert BlockedTrials(started, CLOSED, done).judge()["one", "cpu"].verdict == "unresolved"


def test_what_a_baseline_does_not_have_is_not_awaited() -> None:
    """As the CPU time of a proxy, where the baseline has none."""
    made = plan(pairing="slices")
    assert set(made.awaited) >= {"cpu"}

    def lacks(trial: Trial) -> bool:
        return trial.shown_as == "none" and trial.label != CONTROL

    done = [
        trial.model_copy(update={"outcomes": {**trial.outcomes, "cpu": None}})
        if lacks(trial)
        else trial
        for trial in duels(made, 2)
    ]
    every = {("one", name) for name in made.awaited} | {("two", name) for name in made.awaited}
    assert set(BlockedTrials(made, CLOSED, []).awaited()) == every
    assert set(BlockedTrials(made, CLOSED, duels(made, 2)).awaited()) == every
    left = {(label, name) for label, name in every if name != "cpu"}
    assert set(BlockedTrials(made, CLOSED, done).awaited()) == left
