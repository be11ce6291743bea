"""Simulated servers in which a call costs what is known: is that what comes out?"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tare.model.outcome import Outcome
from tare.model.scenario import Scenario
from tare.model.study import Blocks
from tare.model.trial import Plan, Trial
from tare.stats.blocks import BlockedTrials, planned_trials
from tare.stats.dose_response import Slopes
from tare.stats.plan_order import CONTROL
from tare.stats.slope import Window, slope
from tare.stats.verdict import Verdict

DOSES, ROUNDS, BLOCKS = (1, 16, 48, 64), 4, 12
RESPONSE = Outcome(title="CPU", unit="µs", better="lower", value="role.sut.cpu_us")
NS = Outcome(
    title="CPU of a call",
    unit="ns",
    better="lower",
    value="analysis.slope",
    times=1000,
)
SCENARIO = Scenario(name="default")


def plan(variants: list[str]) -> Plan:
    return Plan(
        run="r",
        experiment="e",
        study="s",
        title="t",
        question="q",
        tare="0",
        created="now",
        seed=1,
        baseline="none",
        variants=variants,
        scenarios=[SCENARIO],
        overrides={},
        outcomes={"ns": NS, "cpu": RESPONSE},
        judged=["ns"],
        awaited=["ns"],
        margin_pct=2,
        blocks=Blocks(min=BLOCKS, max=BLOCKS),
        quick=False,
    )


def server(
    costs_ns: Mapping[str, float],
    rng: np.random.Generator,
    *,
    noise: float = 0.02,
    drift: float = 0.01,
    bend: float = 0.0,
) -> Slopes:
    """A request costs 12 µs and its calls; the machine's speed wanders around 1, by `drift` from
    window to window, and each window has noise beside it, both relative."""
    made = plan(["none", *costs_ns])
    trials, speed = [], 1.0
    for block in range(BLOCKS):
        for planned in planned_trials(made, block):
            each = costs_ns.get(planned.label, 0.0) / 1000
            own, notes = rng.normal(0, 0.05), []
            for number in range(ROUNDS):
                for dose in rng.permutation(DOSES).tolist():
                    speed = speed**0.9 * np.exp(rng.normal(0, drift))
                    cost = 12 * np.exp(own) + each * dose + bend * each * dose**2
                    response = float(cost * speed * np.exp(rng.normal(0, noise)))
                    note = {"round": number, "dose": dose, "response": response, "spoilt": []}
                    notes.append(note)
            windows = [Window(n["round"], n["dose"], n["response"]) for n in notes]
            found = {"parameter": "dose", "outcome": "cpu", "windows": notes}
            trials.append(
                Trial.model_validate(
                    planned.model_dump()
                    | {
                        "attempt": 1,
                        "status": "valid",
                        "started": "now",
                        "wall_s": 1.0,
                        "outcomes": {"ns": 1000 * slope(windows)},
                        "instrument": {"slope": found},
                    }
                )
            )
    return Slopes(made, SCENARIO, "ns", trials)


@pytest.mark.parametrize("known", [20.0, 100.0, 500.0])
def test_a_known_cost_is_recovered(known: float) -> None:
    """On a simulated machine that is as noisy as a shared virtual one: within 10 % or 5 ns."""
    rng = np.random.default_rng(int(known))
    for _ in range(20):
        found = server({"known": known}, rng).slope("known")
        assert abs(found.estimate - known) <= max(5.0, known / 10)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    held = 0
    studies = 300
    for _ in range(studies):
        interval = server({"one": 50.0}, rng, drift=0.0).slope("one").interval
        assert interval is not None
        # What a machine's speed is on average is no part of the interval.
        held += not interval.excludes(50.0)
    print(f"\nintervals that held 50 ns: {held / studies:.1%} of {studies}")
    assert held / studies > 0.91


def test_a_dose_that_a_gate_refused_in_one_trial_is_that_of_the_others() -> None:
    found = server({"one": 50.0}, np.random.default_rng(3))
    whole = found.growth("one")
    trials = [each for each in found.trials if each.label == "one"]
    note = trials[0].instrument["slope"]
    least = [each for each in note["windows"] if each["dose"] != max(whole)]
    lacking = trials[0].model_copy(update={"instrument": {"slope": note | {"windows": least}}})
    for order in ([lacking, *trials[1:]], [*trials[1:], lacking]):
        known = replace(found, trials=order).growth("one")
        assert list(known) == list(whole)
        assert known[max(whole)].n == whole[max(whole)].n - 1


def test_costs_are_told_apart_and_ranked() -> None:
    costs = {"native": 10.0, "jit": 45.0, "script": 80.0}
    found = server(costs, np.random.default_rng(5), noise=0.005, drift=0.002)
    verdicts = {label: judgement.verdict for label, (_, judgement) in found.judge().items()}
    assert verdicts == dict.fromkeys(costs, Verdict.COSTS)
    pairs = {pair: judgement.verdict for pair, (_, judgement) in found.judge_pairs().items()}
    assert pairs == {
        ("jit", "native"): Verdict.COSTS,
        ("script", "native"): Verdict.COSTS,
        ("script", "jit"): Verdict.COSTS,
    }


def test_what_costs_nothing_is_seldom_called_different() -> None:
    rng = np.random.default_rng(7)
    false = 0
    studies = 100
    for _ in range(studies):
        found = server({"one": 0.0, "two": 0.0, "three": 0.0}, rng)
        family = [*found.judge().values(), *found.judge_pairs().values()]
        false += any(judgement.verdict is not Verdict.UNRESOLVED for _, judgement in family)
    print(f"\nstudies with a false difference: {false} of {studies}")
    assert false <= 8


def test_a_bend_is_seen_and_a_straight_line_has_none() -> None:
    rng = np.random.default_rng(9)
    straight = server({"one": 50.0}, rng, noise=0.003, drift=0.001).bend("one")
    curved = server({"one": 50.0}, rng, noise=0.003, drift=0.001, bend=0.01).bend("one")
    assert straight is not None and straight.interval is not None
    assert curved is not None and curved.interval is not None
    assert not straight.interval.excludes(0)
    # The slope is 50 + 2 · 0.5 · dose ns.
    assert curved.interval.low > 0 and curved.estimate == pytest.approx(63, rel=0.3)


def test_baseline_again_is_the_floor() -> None:
    found = server({"one": 50.0}, np.random.default_rng(13))
    again = found.difference(CONTROL, "none")
    floor = found.floor()
    assert again is not None and again.interval is not None
    assert floor == max(-again.interval.low, again.interval.high)
    assert found.labels() == ["none", "one", CONTROL]


def test_too_few_blocks_resolve_nothing() -> None:
    found = server({"one": 50.0}, np.random.default_rng(17))
    few = Slopes(found.plan, SCENARIO, "ns", [t for t in found.trials if t.block < 5])
    ((difference, judgement),) = few.judge().values()
    assert difference.interval is None and judgement.verdict is Verdict.UNRESOLVED
    assert judgement.why == "5 blocks give no 95 % interval: it takes 6"


def test_a_window_without_a_response_that_was_repeated_is_left_out() -> None:
    found = server({"one": 50.0}, np.random.default_rng(23))
    trials = []
    for trial in found.trials:
        own = trial.instrument["slope"]
        lacks = {"round": 0, "dose": 64, "response": None, "spoilt": []}
        repeated = {**own, "windows": [lacks, *own["windows"]]}
        trials.append(trial.model_copy(update={"instrument": {"slope": repeated}}))
    again = Slopes(found.plan, SCENARIO, "ns", trials)
    assert again.intercept("one") == found.intercept("one")
    assert again.bend("one") == found.bend("one")
    assert again.growth("one") == found.growth("one")


def test_a_slope_is_no_ratio() -> None:
    found = server({"one": 50.0}, np.random.default_rng(19))
    paired = BlockedTrials(found.plan, SCENARIO, found.trials)
    assert paired.effect("one", "ns") is None
