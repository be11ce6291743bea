import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import runs

from tare.model.results import Results, VariantResult
from tare.model.trial import RANGE, Gate
from tare.report import results, schema
from tare.report.errors import NotARun
from tare.report.folder import read
from tare.report.ranking import ordered


def make(folder: Path) -> Results:
    return results.make(read(folder))


def variants(folder: Path) -> dict[str, VariantResult]:
    return make(folder).scenarios[0].variants


def test_a_known_effect_is_found_and_judged(tmp_path: Path) -> None:
    plan = runs.plan(variants=["none", "dear", "same"])
    done = runs.trials(plan, 8, {"dear": 1.2})
    found = make(runs.write(tmp_path / "run", plan, done))
    assert found.complete and found.measured_share == 0.75
    (scenario,) = found.scenarios
    assert scenario.noise_floor["cpu"].verdict in ("equivalent", "unresolved")
    dear = scenario.variants["dear"].outcomes["cpu"]
    assert dear.effect_pct == pytest.approx(20, abs=1) and dear.ci_pct is not None
    assert dear.ci_pct[0] < dear.effect_pct < dear.ci_pct[1]
    assert (dear.verdict, dear.blocks) == ("costs", 8)
    assert scenario.variants["same"].outcomes["cpu"].verdict == "equivalent"
    assert scenario.variants["none"].outcomes["cpu"].effect_pct is None
    rate = scenario.variants["dear"].outcomes["rate"]
    assert rate.effect_pct == pytest.approx(-100 / 6, abs=1)
    assert not rate.judged and rate.verdict is None, "no verdict in a scenario it is not for"
    p50 = scenario.variants["dear"].latency["p50"]
    assert p50.value_us == pytest.approx(50, rel=0.002) and p50.ci_us is not None


def test_a_figure_below_zero_has_no_effect_and_a_place(tmp_path: Path) -> None:
    plan = runs.plan(variants=["none", "dear", "lost"])
    done = [
        runs.altered(trial, outcomes={"cpu": -1.0, "rate": 1.0}) if trial.label == "lost" else trial
        for trial in runs.trials(plan, 8, {"dear": 1.2})
    ]
    found = make(runs.write(tmp_path / "run", plan, done))
    lost = found.scenarios[0].variants["lost"].outcomes["cpu"]
    assert (lost.median, lost.effect_pct) == (-1.0, None)
    assert ordered(found, found.scenarios[0], "cpu") == ["lost", "none", "dear", "control"]


def test_results_fit_the_published_schema(tmp_path: Path) -> None:
    plan = runs.plan()
    found = make(runs.write(tmp_path / "run", plan, runs.trials(plan, 1, {})))
    known = json.loads(schema.text("results"))
    jsonschema.Draft202012Validator.check_schema(known)
    jsonschema.validate(json.loads(found.model_dump_json()), known)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(found.model_dump_json()) | {"seed": "x"}, known)


def test_pairs_need_both_and_only_valid_blocks_count(tmp_path: Path) -> None:
    plan = runs.plan()
    done = [
        runs.altered(trial, status="invalid", reason="noisy")
        if (trial.label, trial.block) in {("dear", 0), ("none", 3)}
        else trial
        for trial in runs.trials(plan, 8, {})
    ]
    found = variants(runs.write(tmp_path / "run", plan, done))
    assert found["dear"].outcomes["cpu"].blocks == 6
    assert (found["dear"].trials_valid, found["dear"].trials_invalid) == (7, 1)
    assert found["control"].outcomes["cpu"].blocks == 7


@pytest.mark.parametrize(
    ("status", "trial_status"),
    [("failed", "failed"), ("unavailable", "unavailable"), ("invalid", "invalid")],
)
def test_what_was_not_measured_says_why(tmp_path: Path, status: str, trial_status: str) -> None:
    plan = runs.plan()
    done = [
        runs.altered(trial, status=trial_status, reason="why", outcomes={})
        if trial.label == "dear"
        else trial
        for trial in runs.trials(plan, 8, {})
    ]
    found = variants(runs.write(tmp_path / "run", plan, done))
    assert (found["dear"].status, found["dear"].reason) == (status, "why")
    assert found["dear"].outcomes == {} and found["dear"].latency == {}
    assert found["none"].status == "measured"


def test_what_a_variant_cannot_have_is_left_out_and_what_it_lacks_is_not(tmp_path: Path) -> None:
    own = runs.CPU.model_copy(update={"value": "role.proxy.cpu_us", "per": "instrument.requests"})
    both = runs.CPU.model_copy(update={"value": "role.proxy.cpu_us + role.backend.cpu_us"})
    tail = runs.RATE.model_copy(update={"value": "instrument.latency_p999_us"})
    searched = runs.RATE.model_copy(update={"value": "analysis.capacity_per_second"})
    outcomes = {"own": own, "both": both, "tail": tail, "searched": searched}
    plan = runs.plan(outcomes=outcomes)
    nothing = dict.fromkeys(outcomes)
    done = [
        runs.altered(trial, outcomes=nothing | {"both": 2.0}, roles={"backend": {"cpu_us": 2.0}})
        if trial.variant == "none"
        else runs.altered(trial, outcomes=nothing, roles={"backend": {}, "proxy": {}})
        for trial in runs.trials(plan, 8, {})
    ]
    found = variants(runs.write(tmp_path / "run", plan, done))
    assert set(found["none"].outcomes) == set(found["control"].outcomes) == {"both", "tail"}
    assert set(found["dear"].outcomes) == {"own", "both", "tail"}


@pytest.mark.parametrize("label", ["dear", "none", "control"])
def test_a_variant_beyond_the_range_of_a_search_has_no_figure(tmp_path: Path, label: str) -> None:
    """Its other trials are those that were slow enough for the range."""
    plan = runs.plan()
    gate = Gate(name=RANGE, kind="analysis", ok=False, found="even 100 held", wanted="less")
    done = runs.trials(plan, 8, {"dear": 1.2})
    at = max(number for number, trial in enumerate(done) if trial.label == label)
    why = "range: even 100 held, wanted less"
    done[at] = runs.altered(done[at], status="invalid", outcomes={}, gates=[gate], reason=why)
    found = make(runs.write(tmp_path / "run", plan, done))
    lost = ["dear"] if label == "dear" else ["none", "control"]
    for name, own in found.scenarios[0].variants.items():
        expected = ("invalid", why) if name in lost else ("measured", None)
        assert (own.status, own.reason) == expected
        assert (own.outcomes == {}) is (own.latency == {}) is (name in lost)
    assert found.complete


def test_a_run_in_progress_is_not_complete(tmp_path: Path) -> None:
    plan = runs.plan()
    for blocks in (0, 1, 7):
        folder = runs.write(tmp_path / str(blocks), plan, runs.trials(plan, blocks, {}))
        assert not make(folder).complete
    done = runs.trials(plan, 8, {})
    assert not make(runs.write(tmp_path / "short", plan, done[:-1])).complete
    assert make(runs.write(tmp_path / "whole", plan, done)).complete


@pytest.mark.parametrize("label", ["none", "dear"])
def test_one_failure_does_not_complete_a_run_that_goes_on(tmp_path: Path, label: str) -> None:
    plan = runs.plan()
    done = runs.trials(plan, 8, {})
    at = next(number for number, trial in enumerate(done) if trial.label == label)
    done[at] = runs.altered(done[at], status="failed", reason="no", outcomes={})
    cut = max(number for number, trial in enumerate(done) if trial.label == label)
    for number, kept in enumerate((done[:3], done[:cut], done[:cut] + done[cut + 1 :])):
        assert not make(runs.write(tmp_path / str(number), plan, kept)).complete
    assert make(runs.write(tmp_path / "whole", plan, done)).complete


def test_a_run_whose_time_ended_within_a_block_is_complete(tmp_path: Path) -> None:
    plan = runs.plan(until="resolved", within_s=10.0, blocks={"min": 1, "max": 1000})
    done = runs.trials(plan, 2, {"dear": 1.2})
    for trials, is_over in ((4, False), (5, True)):  # of two seconds each
        folder = runs.write(tmp_path / str(trials), plan, done[:trials])
        assert make(folder).complete == is_over


@pytest.mark.parametrize(("retries", "attempts"), [({}, 3), ({"default": 1}, 2)])
def test_a_refused_trial_that_may_be_tried_again_is_outstanding(
    tmp_path: Path, retries: dict[str, int], attempts: int
) -> None:
    plan = runs.plan(retries=retries)
    *done, last = runs.trials(plan, 8, {})
    for made in range(1, attempts + 1):
        refused = [
            runs.altered(last, id=f"{last.id}-{number}", attempt=number, status="invalid")
            for number in range(1, made + 1)
        ]
        folder = runs.write(tmp_path / str(made), plan, done + refused)
        assert make(folder).complete == (made == attempts)
        faults = [runs.altered(each, machine_fault=True) for each in refused]
        assert not make(runs.write(tmp_path / f"fault-{made}", plan, done + faults)).complete


def test_a_scenario_without_its_baseline_is_given_up_and_complete(tmp_path: Path) -> None:
    plan = runs.plan(blocks={"min": 2, "max": 2})
    done = [
        runs.altered(trial, status="failed", reason="no", outcomes={})
        for trial in runs.trials(plan, 2, {})
        if trial.variant == "none"
    ]
    assert make(runs.write(tmp_path / "run", plan, done)).complete


def test_variants_are_measured_to_the_end_where_their_baseline_is_unavailable(
    tmp_path: Path,
) -> None:
    plan = runs.plan()
    done = [
        runs.altered(trial, status="unavailable", reason="no such card", outcomes={})
        if trial.variant == "none"
        else trial
        for trial in runs.trials(plan, 8, {})
        if trial.variant != "none" or trial.block == 0
    ]
    assert not make(runs.write(tmp_path / "begun", plan, done[:-1])).complete
    assert make(runs.write(tmp_path / "whole", plan, done)).complete


def test_a_baseline_that_failed_at_once_ends_the_run_for_good(tmp_path: Path) -> None:
    plan = runs.plan(blocks={"min": 8, "max": 40})
    done = [
        runs.altered(trial, status="failed", reason="no", outcomes={})
        for trial in runs.trials(plan, 1, {})
        if trial.variant == "none"
    ]
    assert make(runs.write(tmp_path / "run", plan, done)).complete


def test_what_a_failed_baseline_ended_is_not_called_outstanding(tmp_path: Path) -> None:
    plan = runs.plan()
    done = [
        runs.altered(trial, status="failed", reason="no", outcomes={})
        for trial in runs.trials(plan, 1, {})
        if trial.variant == "none"
    ]
    found = variants(runs.write(tmp_path / "run", plan, done))
    assert found["dear"].reason == "not measured: its baseline none failed"


def test_the_control_is_unavailable_where_its_baseline_is(tmp_path: Path) -> None:
    plan = runs.plan()
    done = [
        runs.altered(trial, status="unavailable", reason="no card", outcomes={})
        for trial in runs.trials(plan, 1, {})
        if trial.label == "none"
    ]
    found = variants(runs.write(tmp_path / "run", plan, done))
    assert (found["control"].status, found["control"].reason) == ("unavailable", "no card")
    assert found["dear"].reason == "not measured yet"


def test_nothing_yet_is_no_error(tmp_path: Path) -> None:
    found = make(runs.write(tmp_path / "run", runs.plan(), [], environment=None))
    assert {item.reason for item in found.scenarios[0].variants.values()} == {"not measured yet"}
    assert found.measured_share == 0


def test_a_damaged_folder_is_told_of(tmp_path: Path) -> None:
    folder = runs.write(tmp_path / "run", runs.plan(), [])
    (folder / "plan.json").write_text("{]\n")
    with pytest.raises(NotARun, match="is not the folder of a run"):
        read(folder)
    with pytest.raises(NotARun):
        read(tmp_path)


def test_lines_that_were_set_aside_are_named_and_the_rest_is_reported(tmp_path: Path) -> None:
    made = runs.plan()
    done = runs.trials(made, 8, {"dear": 1.2})
    folder = runs.write(tmp_path / "run", made, done)
    file = folder / "trials.jsonl"
    lines = file.read_text().splitlines()
    lines[4] = lines[4][:50]
    file.write_text("\n".join([*lines, lines[0], ""]))
    found = results.make(read(folder))
    damaged, repeated = found.environment["remarks"]
    assert damaged.startswith("set aside of the trials: line 5 is damaged (JSON: ")
    assert repeated == f"set aside of the trials: line 25 repeats trial {done[0].id}"
    assert not found.complete, "the trial of the damaged line is lacking"
    assert sum(each.trials_valid for each in found.scenarios[0].variants.values()) == 23


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("environment.json", "{"),
        ("environment.json", "[]"),
        ("environment.json", '{"versions": 5}'),
        ("environment.json", '{"remarks": "text"}'),
        ("environment.json", '{"audit": [{"name": "governor"}]}'),
        ("latencies.json", '{"default": 5}'),
        ("histograms/{id}.json", "{"),
        ("histograms/{id}.json", "[]"),
        ("histograms/{id}.json", '{"latency": "HISTxxxx"}'),
    ],
)
def test_a_damaged_file_is_named_in_a_sentence(tmp_path: Path, name: str, content: str) -> None:
    made = runs.plan()
    done = runs.trials(made, 1, {})
    folder = runs.write(tmp_path / "run", made, done)
    (folder / name.format(id=done[0].id)).write_text(content)
    with pytest.raises(NotARun, match=r"damaged|latencies of .* in default: histogram 0") as told:
        results.make(read(folder))
    assert "remove it" in str(told.value)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"scenarios": []}, "scenarios: found none"),
        ({"baseline": "gone"}, "variants: expected the baseline 'gone' first"),
        ({"variants": ["none", "dear", "dear"]}, "variants: found 'dear' twice"),
        ({"variants": ["none", "control"]}, "variants: found 'control' twice"),
        ({"judged": ["cost"]}, "judged: found 'cost', which is no outcome of it"),
        ({"shown": ["cost"]}, "shown: found 'cost', which is no outcome of it"),
        ({"limits": {"cost": 2.0}}, "limits: found 'cost', which is no outcome of it"),
        ({"baselines": {"dear": "gone"}}, "baselines: found 'gone', which is no variant of it"),
        (
            {"scenarios": [{"name": "a", "levels": {"x": "1"}}, {"name": "b"}]},
            "scenarios: their levels are not of the same factors",
        ),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(
    tmp_path: Path, changes: dict[str, Any], fault: str
) -> None:
    folder = runs.write(tmp_path / "run", runs.plan(**changes), [])
    with pytest.raises(NotARun, match=f"plan.json is damaged: {fault}$"):
        read(folder)


def test_trials_that_are_not_of_the_plan_are_set_aside(tmp_path: Path) -> None:
    made = runs.plan()
    done = runs.trials(made, 8, {"dear": 1.2})
    strange = [
        runs.altered(done[0], id="x", scenario="night"),
        runs.altered(done[0], id="y", label="none@gone"),
        runs.altered(done[1], outcomes=done[1].outcomes | {"cost": 5.0}),
    ]
    folder = read(runs.write(tmp_path / "run", made, [done[0], *done[2:], *strange]))
    assert folder.set_aside == [
        "trial x is not of this plan: it has no scenario 'night'",
        "trial y is not of this plan: it has no variant 'gone'",
        "outcome 'cost' of 1 trial is not of this plan",
    ]
    assert len(folder.trials) == len(done)
    assert not any("cost" in trial.outcomes for trial in folder.trials)


def test_a_slope_without_its_windows_is_set_aside(tmp_path: Path) -> None:
    made = runs.plan(outcomes={"ns": runs.NS, "cpu": runs.CPU})
    done = runs.dosed(made, 8, {"dear": 0.05})
    done[3] = runs.altered(done[3], instrument={})
    folder = read(runs.write(tmp_path / "run", made, done))
    why = "it has a slope, and no windows that it could be of"
    assert folder.set_aside == [f"trial {done[3].id} is not of this plan: {why}"]
    assert results.make(folder).scenarios[0].slopes


def test_a_note_that_no_report_could_read_is_set_aside_with_its_line(tmp_path: Path) -> None:
    made = runs.plan()
    done = runs.trials(made, 8, {"dear": 1.2})
    folder = runs.write(tmp_path / "run", made, done)
    file = folder / "trials.jsonl"
    lines = file.read_text().splitlines()
    lines[2] = lines[2].replace('"instrument":{}', '"instrument":{"slope":{"windows":5}}')
    file.write_text("\n".join([*lines, ""]))
    assert read(folder).set_aside == [
        "line 3 is damaged (instrument.slope.parameter: Field required)"
    ]


def test_a_run_until_all_is_resolved_lacks_no_trial_that_would_be_late(tmp_path: Path) -> None:
    for until, is_complete in (("narrow", False), ("resolved", True)):
        plan = runs.plan(until=until, blocks={"min": 9, "max": 9})
        fault = {"machine_fault": True, "status": "invalid", "reason": "no room"}
        done = [
            runs.altered(each, **fault) if each.block == 1 and each.label == "dear" else each
            for each in runs.trials(plan, 9, {"dear": 1.2})
        ]
        assert make(runs.write(tmp_path / until, plan, done)).complete is is_complete
