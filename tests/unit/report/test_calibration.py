"""A calibration, of built runs whose spread is known, and its words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from runs import CPU, plan, trials

from tare.model.calibration import Calibration, Known, Machine, Resolution
from tare.model.outcome import Outcome
from tare.model.scenario import Scenario
from tare.model.study import Blocks, Calibrates
from tare.model.trial import Plan
from tare.report import calibration
from tare.report.errors import ReportError
from tare.report.folder import RunFolder

MACHINE = Machine(cpu="c", cpu_count=2, kernel="k")
CALIBRATES = Calibrates(outcome="cpu", truth="burnt")
TRUTH = Outcome(title="Burnt", unit="%", better="lower", value="probe.burnt")
SCENARIO = Scenario(name="default", parameters={"duration_s": 2.0})


def run(pairing: str, blocks: int = 12, **factors: float) -> RunFolder:
    made = plan(
        outcomes={"cpu": CPU, "burnt": TRUTH},
        scenarios=[SCENARIO],
        pairing=pairing,
        blocks=Blocks(min=blocks, max=blocks),
    )
    known = [
        trial.model_copy(
            update={
                "outcomes": {**trial.outcomes, "burnt": 1.0 if trial.label == "dear" else 0.0},
                "wall_s": 2.5,
            }
        )
        for trial in trials(made, blocks, factors)
    ]
    return RunFolder(Path("r"), made, known, {})


def made(*runs: RunFolder) -> Calibration:
    return calibration.make(runs, CALIBRATES, MACHINE, remarks=["r"], advice=["a"])


def test_it_says_what_was_seen_by_both_ways() -> None:
    found = made(run("trials", dear=1.01))
    (only,) = found.resolutions
    assert (only.outcome, only.pairing, only.duration_s) == ("cpu", "trials", 2.0)
    assert only.pairs == 24, "both the control's and the variant's"
    assert only.block_s == pytest.approx(7.5), "baseline, variant and control"
    assert 0.001 < only.spread < 0.006
    assert found.known.truth_pct == 1.0
    assert found.known.effect_pct == pytest.approx(1.0, abs=0.4)
    assert (found.remarks, found.advice) == (["r"], ["a"])


def test_an_outcome_that_no_trial_could_name_is_left_out() -> None:
    found = run("trials", dear=1.01)
    outcomes = {"rounds": CPU, **found.plan.outcomes}
    judged = [*found.plan.judged, "rounds"]
    known = [
        each.model_copy(update={"outcomes": {**each.outcomes, "rounds": None}})
        for each in found.trials
    ]
    changed = found.plan.model_copy(update={"outcomes": outcomes, "judged": judged})
    told = made(replace(found, plan=changed, trials=known))
    assert [each.outcome for each in told.resolutions] == ["cpu"]


def test_a_machine_that_cannot_measure_the_outcome_is_checked_by_the_other_one() -> None:
    found = run("trials", dear=1.01)
    rounds = [
        each.model_copy(update={"outcomes": {**each.outcomes, "rounds": None}})
        for each in found.trials
    ]
    outcomes, judged = {"rounds": CPU, **found.plan.outcomes}, ["rounds", *found.plan.judged]
    changed = found.plan.model_copy(update={"outcomes": outcomes, "judged": judged})
    told = calibration.make(
        [replace(found, plan=changed, trials=rounds)],
        Calibrates(outcome="rounds", otherwise="cpu", truth="burnt"),
        MACHINE,
        remarks=[],
        advice=[],
    )
    assert told.known.outcome == "cpu" and told.known.ci_pct is not None


def test_without_trials_that_count_it_is_refused() -> None:
    empty = run("trials")
    spoilt = [trial.model_copy(update={"status": "invalid"}) for trial in empty.trials]
    with pytest.raises(ReportError, match="too few trials counted"):
        made(RunFolder(Path("r"), empty.plan, spoilt, {}))


def known(**changes: Any) -> Calibration:
    fields = {
        "outcome": "cpu",
        "truth_pct": 1.0,
        "effect_pct": 1.1,
        "ci_pct": (0.7, 1.5),
    }
    resolution = Resolution(
        outcome="cpu",
        title="Server CPU per request",
        pairing="slices",
        spread=0.01,
        pairs=20,
        block_s=2.5,
        duration_s=1.0,
    )
    return Calibration(
        created="2026-01-01T00:00:00+00:00",
        tare="0",
        machine=MACHINE,
        resolutions=[
            resolution,
            resolution.model_copy(update={"pairing": "trials", "spread": 0.2, "block_s": 20.0}),
        ],
        known=Known.model_validate(fields | changes),
        runs=[],
    )


def test_it_begins_with_what_a_minute_of_duels_finds() -> None:
    assert calibration.sentence(known()) == (
        "In one minute of duels this machine finds a difference of 0.8 % in server CPU per request."
    )
    slow = known().resolutions[0].model_copy(update={"block_s": 30.0})
    nothing = known().model_copy(update={"resolutions": [slow]})
    assert "finds nothing" in calibration.sentence(nothing)


def test_a_span_that_gives_no_verdict_is_a_dash() -> None:
    assert list(calibration.rows(known())) == [
        ["Server CPU per request", "duels", "0.8 %", "0.35 %", "0.17 %"],
        ["Server CPU per request", "trials one after the other", "–", "23 %", "10 %"],
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "was seen as +1.10 % [+0.70, +1.50]."),
        ({"ci_pct": (1.2, 1.5)}, "the interval misses the truth"),
        ({"ci_pct": None}, "too few duels"),
    ],
)
def test_the_check_says_whether_the_truth_was_seen(changes: dict[str, Any], words: str) -> None:
    assert words in calibration.check(known(**changes))


def planned(**changes: Any) -> Plan:
    fields = {
        "outcomes": {"cpu": CPU},
        "pairing": "slices",
        "blocks": Blocks(min=24, max=40),
        "scenarios": [Scenario(name="default", parameters={"duration_s": 1.0})],
    }
    return plan(**fields | changes)


def test_what_a_plan_can_find_follows_from_its_blocks_and_their_length() -> None:
    found = known()
    assert calibration.expected(found, planned()) == (
        "24 blocks of tare calibrate's own server find 0.8 % in server CPU per request; yours may "
        "be noisier"
    )
    longer = planned(scenarios=[Scenario(name="default", parameters={"duration_s": 4.0})])
    assert " 0.4 % in " in (calibration.expected(found, longer) or "")
    assert calibration.expected(found, planned(outcomes={"ns": CPU})) is None
    assert calibration.expected(found, planned(pairing="trials")) is not None
    ends = planned(until="resolved", blocks=Blocks(min=1, max=1000))
    assert calibration.expected(found, ends) is None, "it ends by what it finds"
    short = planned(blocks=Blocks(min=2, max=2))
    assert calibration.expected(found, short) is None, "they cannot show a difference"
