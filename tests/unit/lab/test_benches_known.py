"""What a coordinator asks of the stored trials, however many there are."""

import sys
from pathlib import Path
from typing import Any

from tare.lab.run.benches.known import Known, lean
from tare.model.trial import Trial
from tare.stats.blocks import planned_trials

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from runs import plan, trials


def attempt(block: int, **changes: Any) -> Trial:
    (first, *_) = trials(plan(), 1, {})
    return first.model_copy(update={"block": block, "id": f"b{block}", **changes})


def test_a_block_lacks_what_no_attempt_ended() -> None:
    made = trials(plan(), 2, {})
    known = Known(plan(), made[:-1])
    assert not known.lacks(0) and known.lacks(1) and known.lacks(2)
    known.add([made[-1].model_copy(update={"machine_fault": True, "status": "invalid"})])
    assert known.lacks(1)
    known.add(made[-1:])
    assert not known.lacks(1)
    assert known.of_block(0) == [lean(each) for each in made if each.block == 0]


def test_what_cannot_be_measured_is_not_lacking() -> None:
    known = Known(plan(), [])
    labels = {each.label for each in planned_trials(plan(), 0)}
    assert labels == {"none", "dear", "control"}
    known.add([each for each in trials(plan(), 1, {}) if each.label != "dear"])
    assert known.lacks(0)
    baseline = attempt(4, label="none", variant="none", status="unavailable")
    assert Known(plan(), [baseline]).lacks(1), "dear is measured without it"
    known.add([attempt(3, label="dear", variant="dear", status="unavailable")])
    assert not known.lacks(0) and known.lacks(1)
    known.add([baseline])
    assert not known.lacks(1)


def test_no_duel_is_lacking_whose_baseline_is_unavailable() -> None:
    made = plan(pairing="slices")
    side = attempt(0, label="none@dear", variant="none", status="unavailable")
    assert Known(made, []).lacks(1) and not Known(made, [side]).lacks(1)


def test_a_bench_is_told_no_more_failures_than_decide() -> None:
    failed = [attempt(block, variant="dear", status="failed") for block in range(50)]
    known = Known(plan(), [*failed, attempt(60)])
    assert known.useful_for(70) == failed[:2]
    assert known.useful_for(60) == [lean(attempt(60)), *failed[:2]]
    assert known.useful_for(1) == failed[1:2] + failed[:1]
    assert known.useful_for(9) == failed[9:10] + failed[:2]


def test_a_trial_that_counts_is_kept_without_what_nobody_asks_for() -> None:
    whole = attempt(0, instrument={"load": {"rate": 1.0}}, roles={"sut": {"cpu_us": 1.0}})
    kept = lean(whole)
    assert (kept.instrument, kept.roles) == ({}, {}) and kept.outcomes == whole.outcomes
    refused = whole.model_copy(update={"status": "invalid"})
    assert lean(refused) == refused


def test_what_would_be_late_is_not_lacking() -> None:
    for until, is_lacking in (("narrow", True), ("resolved", False)):
        made = plan(until=until, blocks={"min": 1, "max": 9})
        fault = {"machine_fault": True, "status": "invalid"}
        done = [
            each.model_copy(update=fault) if each.block == 1 and each.label == "dear" else each
            for each in trials(made, 3, {})
        ]
        assert Known(made, done).lacks(1) is is_lacking
        assert Known(made, [each for each in done if each.block < 2]).lacks(1)
