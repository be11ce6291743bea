import pytest
from blocked import CLOSED, outcome, plan, trials, with_status

from tare.model.study import Blocks
from tare.model.trial import Plan, Trial
from tare.stats.blocks import BlockedTrials
from tare.stats.ending import comparisons, earliest_end, fewest_blocks, shortage, stop
from tare.stats.plan_order import CONTROL
from tare.stats.stopping import Stop
from tare.stats.verdict import Judgement, Verdict


def test_so_many_blocks_as_the_family_needs() -> None:
    assert fewest_blocks(plan()) == 8, "2 / 2^8 is the first below 0.05 / 4"
    assert fewest_blocks(plan(blocks=Blocks(min=12, max=20))) == 12
    assert fewest_blocks(plan(judged=[])) == 6


def test_too_few_blocks_for_any_verdict_are_told_before_they_are_made() -> None:
    assert shortage(plan(blocks=Blocks(min=8, max=8))) is None
    few = plan(blocks=Blocks(min=7, max=7))
    lack = "7 blocks cannot show a difference among 4 comparisons"
    assert shortage(few) == f"{lack} of a scenario: it takes 8"
    assert shortage(few.model_copy(update={"scenarios": [CLOSED]})) == f"{lack}: it takes 8"
    assert shortage(plan(blocks=Blocks(min=1, max=1), judged=[])) is None


def test_slopes_need_blocks_for_a_verdict_too() -> None:
    """Each slope is a family: here of two comparisons, which take 7 blocks."""
    slope = outcome(value="analysis.slope")
    few = plan(outcomes={"ns": slope}, judged=["ns"], awaited=[], blocks=Blocks(min=6, max=6))
    lack = "6 blocks cannot show a difference among 2 comparisons of a scenario: it takes 7"
    assert shortage(few) == lack
    longer = few.model_copy(update={"blocks": Blocks(min=6, max=12)})
    assert shortage(longer) is None and fewest_blocks(longer) == earliest_end(longer) == 7
    assert [stop(longer, [], blocks) for blocks in (6, 7)] == [Stop.GO_ON, Stop.NARROW]
    both = plan(outcomes={"cpu": outcome(), "ns": slope}, judged=["cpu", "ns"])
    assert fewest_blocks(both) == 7, "of equal families"


def test_a_run_stops_when_all_that_stops_it_is_narrow() -> None:
    made = plan()
    done = trials(made, 8)
    assert stop(made, done[: 7 * 8], 7) is Stop.GO_ON
    assert stop(made, done, 8) is Stop.NARROW
    wide = [
        trial.model_copy(update={"outcomes": {"cpu": 10.0 + trial.block, "rate": 1.0}})
        if trial.label == "two"
        else trial
        for trial in done
    ]
    assert stop(made, wide, 8) is Stop.GO_ON
    assert stop(made, wide, 20) is Stop.MOST_BLOCKS


def test_one_block_is_enough_where_one_is_asked_for() -> None:
    made = plan(blocks=Blocks(min=1, max=1))
    assert stop(made, trials(made, 1), 1) is Stop.MOST_BLOCKS


def refused(trial: Trial) -> Trial:
    return with_status(trial, "invalid")


@pytest.mark.parametrize("label", ["one", "two", "none", CONTROL])
def test_a_run_is_not_narrow_while_nothing_is_measured_of_a_variant(label: str) -> None:
    made = plan()
    done = [refused(each) if each.label == label else each for each in trials(made, 8)]
    assert stop(made, done, 8) is Stop.GO_ON
    assert stop(made, done, 20) is Stop.MOST_BLOCKS


def test_what_has_no_ratio_is_not_waited_for() -> None:
    made = plan(awaited=["cpu", "rate"])
    for value in (0.0, None):
        done = [
            each.model_copy(update={"outcomes": {**each.outcomes, "rate": value}})
            for each in trials(made, 8)
        ]
        assert stop(made, done, 8) is Stop.NARROW


@pytest.mark.parametrize("until", ["narrow", "resolved"])
@pytest.mark.parametrize(("status", "times"), [("failed", 2), ("unavailable", 1)])
def test_a_scenario_without_its_baseline_is_not_waited_for(
    until: str, status: str, times: int
) -> None:
    made = plan(until=until, scenarios=[CLOSED], variants=["none", "one"])
    done = [
        with_status(each, status) if each.label == "none" else each
        for each in trials(made, 8)
        if each.label == "one" or (each.label == "none" and each.block < times)
    ]
    assert stop(made, done, 8) in (Stop.NARROW, Stop.RESOLVED)


def test_a_variant_that_failed_does_not_keep_a_run_going() -> None:
    made = plan()
    done = [
        with_status(trial, "failed") if trial.label == "two" and trial.block == 1 else trial
        for trial in trials(made, 8)
        if trial.label != "two" or trial.block < 2
    ]
    assert stop(made, done, 8) is Stop.NARROW


def test_a_run_until_it_is_resolved_ends_with_its_last_verdict() -> None:
    made = plan(until="resolved", blocks=Blocks(min=1, max=1000), scenarios=[CLOSED])
    assert fewest_blocks(made) > 1 and shortage(made) is None
    many = trials(made, 30, one=1.5, two=1.0001)
    decisions = [
        stop(made, [trial for trial in many if trial.block < blocks], blocks)
        for blocks in range(1, 31)
    ]
    assert decisions[0] is Stop.GO_ON and decisions[-1] is Stop.RESOLVED
    first = decisions.index(Stop.RESOLVED) + 1
    assert first >= fewest_blocks(made)
    paired = BlockedTrials(made, CLOSED, [trial for trial in many if trial.block < first])
    verdicts = {variant: paired.judge()[variant, "cpu"].verdict for variant in ("one", "two")}
    assert verdicts == {"one": "costs", "two": "equivalent"}


def test_a_run_until_it_is_resolved_says_how_many_blocks_its_own_test_takes() -> None:
    judged = ["cpu", "rate", "tail"]
    made = plan(until="resolved", scenarios=[CLOSED], judged=judged, blocks=Blocks(min=1, max=1000))
    assert (comparisons(made), fewest_blocks(made)) == (6, 9)

    def judged_after(blocks: int, made: Plan) -> Judgement:
        done = [
            each.model_copy(update={"outcomes": dict.fromkeys(judged, each.outcomes["cpu"])})
            for each in trials(made, blocks, one=1.5)
        ]
        return BlockedTrials(made, CLOSED, done).judge()["one", "cpu"]

    assert judged_after(5, made).more_blocks == 4
    found = judged_after(8, made)
    assert found.why == "8 blocks cannot show a difference among 6 comparisons: it takes 9"
    assert found.more_blocks == 1
    assert judged_after(9, made).verdict is Verdict.COSTS
    fixed = made.model_copy(update={"until": "narrow"})
    assert judged_after(8, fixed).verdict is Verdict.COSTS


def test_a_run_may_end_with_its_first_intervals() -> None:
    many = Blocks(min=1, max=1000)
    made = plan(until="resolved", scenarios=[CLOSED], blocks=many)
    assert earliest_end(made) == 6 < fewest_blocks(made), "all may be equivalent"
    assert earliest_end(plan(blocks=Blocks(min=8, max=40))) == 8
    assert earliest_end(plan(blocks=Blocks(min=1, max=3))) == 3
    gate = plan(limits={"cpu": 2.0}, blocks=Blocks(min=6, max=6))
    assert shortage(gate) is None
    few = gate.model_copy(update={"blocks": Blocks(min=5, max=5)})
    assert shortage(few) == "5 blocks cannot decide a limit: it takes 6"


def test_a_run_until_it_is_resolved_ends_with_its_time() -> None:
    made = plan(until="resolved", within_s=10.0, blocks=Blocks(min=1, max=1000), scenarios=[CLOSED])
    few = trials(made, 2)
    assert stop(made, few, 2) is Stop.GO_ON  # eight trials of a second
    assert stop(made, trials(made, 3), 3) is Stop.TIME
    failed = [with_status(trial, "failed") if trial.label != "none" else trial for trial in few]
    assert stop(made, failed, 2) is Stop.RESOLVED, "what fails has no verdict to wait for"


def test_a_run_until_it_is_narrow_ends_with_its_time_too() -> None:
    many = Blocks(min=1, max=1000, target_half_width_pct=1e-6)
    made = plan(within_s=100.0, blocks=many, scenarios=[CLOSED])
    assert stop(made, trials(made, 24), 24) is Stop.GO_ON  # four trials of a second each
    assert stop(made, trials(made, 25), 25) is Stop.TIME
    wide = made.model_copy(update={"blocks": Blocks(min=1, max=1000, target_half_width_pct=500)})
    assert stop(wide, trials(made, 25), 25) is Stop.NARROW


def test_a_gate_is_resolved_when_the_interval_lies_on_one_side_of_the_limit() -> None:
    made = plan(
        until="resolved", blocks=Blocks(min=1, max=1000), scenarios=[CLOSED],
        judged=["cpu"], awaited=["cpu"], limits={"cpu": 2.0},
    )  # fmt: skip
    for factor in (1.5, 1.01):
        many = trials(made, 30, one=factor, two=1.0)
        first = next(
            blocks
            for blocks in range(1, 31)
            if stop(made, [each for each in many if each.block < blocks], blocks) is Stop.RESOLVED
        )
        kept = [trial for trial in many if trial.block < first]
        effect = BlockedTrials(made, CLOSED, kept).effect("one", "cpu")
        assert effect is not None and effect.percent_interval is not None
        low, high = effect.percent_interval
        assert low > 2.0 or high < 2.0


def test_a_gate_ends_with_the_first_outcome_beyond_its_limit() -> None:
    made = plan(
        until="resolved", blocks=Blocks(min=1, max=1000), scenarios=[CLOSED],
        variants=["none", "one"], judged=["cpu", "rate"], awaited=["cpu", "rate"],
        limits={"cpu": 2.0, "rate": 2.0},
    )  # fmt: skip
    many = [each for each in trials(made, 12, one=1.5) if each.variant in made.variants]
    rate = {each.id: 1.0 + 0.3 * (-1) ** each.block * (each.label == "one") for each in many}
    noisy = [
        each.model_copy(update={"outcomes": {**each.outcomes, "rate": rate[each.id]}})
        for each in many
    ]
    assert BlockedTrials(made, CLOSED, noisy).unresolved() == []
    assert BlockedTrials(made, CLOSED, noisy).decided() == 1, "which says nothing of the rate"
    others = made.model_copy(update={"limits": {"cpu": 60.0, "rate": 2.0}})
    assert BlockedTrials(others, CLOSED, noisy).unresolved() == [("one", "rate")]


def test_what_no_trial_can_name_is_not_awaited() -> None:
    made = plan(
        until="resolved", blocks=Blocks(min=1, max=1000), scenarios=[CLOSED],
        judged=["cpu", "rate"], awaited=["cpu", "rate"],
    )  # fmt: skip
    many = [
        each.model_copy(update={"outcomes": {**each.outcomes, "rate": None}})
        for each in trials(made, 30, one=1.5, two=1.0001)
    ]
    assert stop(made, many, 30) is Stop.RESOLVED
    assert BlockedTrials(made, CLOSED, []).unresolved() == [
        (variant, outcome) for variant in ("one", "two") for outcome in ("cpu", "rate")
    ]


def test_what_is_always_0_is_not_awaited_until_it_is_resolved() -> None:
    made = plan(awaited=["cpu", "rate"], until="resolved", blocks=Blocks(min=1, max=1000))
    clear = trials(made, 30, one=1.3, two=1.3)
    zero = [each.model_copy(update={"outcomes": {**each.outcomes, "rate": 0.0}}) for each in clear]
    ends = {
        blocks: stop(made, [each for each in zero if each.block < blocks], blocks)
        for blocks in range(1, 31)
    }
    assert ends[5] is Stop.GO_ON, "so few may have met none by chance"
    assert Stop.RESOLVED in ends.values()
    only = made.model_copy(update={"awaited": ["rate"]})
    assert stop(only, zero[: 5 * 8], 5) is Stop.GO_ON
    assert stop(only, zero[: 6 * 8], 6) is Stop.RESOLVED
    once = [
        each.model_copy(update={"outcomes": {**each.outcomes, "rate": 1.0}})
        if each.block == 3
        else each
        for each in zero
    ]
    assert stop(only, once[: 6 * 8], 6) is Stop.GO_ON, "it has a ratio"
