"""Pairs that a resumed run makes after later ones: they revise no look of a test at every block."""

import pytest
from blocked import CLOSED, OPEN, plan, trials, with_status
from test_duels import duels

from tare.model.study import Blocks
from tare.model.trial import Plan, Trial
from tare.stats.blocks import BlockedTrials, planned_trials
from tare.stats.ending import stop
from tare.stats.late import late, too_late

MANY = Blocks(min=1, max=1000)
REMADE = 3
"""The block of which trials are made again."""


def remade(done: list[Trial], labels: set[str]) -> list[Trial]:
    """Some trials of a block were refused, and made again at the end."""
    own = [each for each in done if each.block == REMADE and each.label in labels]
    again = [each.model_copy(update={"id": f"{each.id}-a2", "attempt": 2}) for each in own]
    return [with_status(each, "invalid") if each in own else each for each in done] + again


def test_a_trial_is_late_after_one_of_its_label_in_a_later_block() -> None:
    made = plan(scenarios=[CLOSED, OPEN])
    done = trials(made, 5)
    assert late(done) == set()
    found = late(remade(done, {"one"}))
    assert found == {f"b03-s{number}-one-a2" for number in range(2)}
    last = [each for each in done if each.block <= REMADE]
    assert late(remade(last, {"one"})) == set(), "nothing later was looked at"
    lost = [with_status(each, "invalid") if each.block > REMADE else each for each in done]
    assert late(remade(lost, {"one"})) == set(), "nothing later counted"


@pytest.mark.parametrize("pairing", ["trials", "slices"])
@pytest.mark.parametrize("label", ["one", "none"])
def test_a_late_pair_revises_no_look_and_is_told(pairing: str, label: str) -> None:
    made = plan(pairing=pairing, until="resolved", blocks=MANY, scenarios=[CLOSED])
    done = (duels if pairing == "slices" else trials)(made, 12, one=1.3, two=1.3)
    labels = {"one", "none@one"} if pairing == "slices" else {label}
    again = remade(done, labels)
    before = [each for each in again if not each.id.endswith("-a2")]
    for blocks in range(1, 13):
        assert stop(made, again, blocks) is stop(made, before, blocks)
    old, new = (BlockedTrials(made, CLOSED, each) for each in (before, again))
    assert new.effect("one", "cpu") == old.effect("one", "cpu")
    assert new.between("two", "one", "cpu") == old.between("two", "one", "cpu")
    told = "; left out: 1 pair made after later ones"
    assert new.judge()["one", "cpu"].why == old.judge()["one", "cpu"].why + told
    (_, pair) = new.judge_pairs()["two", "one", "cpu"]
    assert pair.why.endswith(told) == (label == "one" or pairing == "slices")
    assert len(new.values("one", "cpu")) == 12, "its own figures have all trials"


def test_a_run_that_looks_at_widths_takes_late_pairs_too() -> None:
    made: Plan = plan(scenarios=[CLOSED])
    found = BlockedTrials(made, CLOSED, remade(trials(made, 12, one=1.3), {"one"}))
    effect = found.effect("one", "cpu")
    assert effect is not None and effect.n == 12
    assert "left out" not in found.judge()["one", "cpu"].why


def test_what_would_be_late_is_not_made_again() -> None:
    made = plan(until="resolved", blocks=MANY, scenarios=[CLOSED])
    done = [with_status(each, "invalid") if each.block == 1 else each for each in trials(made, 3)]
    first, second, third = (planned_trials(made, block)[0] for block in (1, 2, 3))
    assert too_late(made, first, done) and not too_late(made, third, done)
    assert not too_late(made, first, done[: 2 * 4]), "nothing later was looked at"
    lost = [with_status(each, "invalid") if each.block == 2 else each for each in done]
    assert not too_late(made, first, lost) and not too_late(made, second, lost)
    assert not too_late(plan(scenarios=[CLOSED]), first, done), "widths may be seen in any order"
