import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import runs
from click.testing import CliRunner, Result

from tare.cli.main import tare
from tare.lab.paths import ROOT
from tare.model.results import Results
from tare.model.scenario import Scenario
from tare.report import results
from tare.report.comparison import NotComparable, compare
from tare.report.folder import read

SLOPES = ROOT / "record" / "filters-price" / "results.json"
HERE = {"cpu": "a CPU", "kernel": "6", "versions": {"none": "1", "dear": "1"}, "fingerprint": "x"}


def run(
    folder: Path,
    cost: float,
    environment: dict[str, Any] = HERE,
    blocks: int = 8,
    **changes: Any,
) -> tuple[Path, Results]:
    plan = runs.plan(**{"run": folder.name} | changes)
    done = runs.trials(plan, blocks, {"dear": cost})
    made = results.make(read(runs.write(folder, plan, done, json.dumps(environment))))
    (folder / "results.json").write_text(made.model_dump_json())
    return folder, made


def asked(*arguments: object) -> Result:
    return CliRunner().invoke(tare, ["compare", *map(str, arguments)])


def test_a_dearer_variant_is_a_regression(tmp_path: Path) -> None:
    before, after = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 1.5)[0]
    done = asked(before, after, "--fail-on", "any")
    assert done.exit_code == 3, done.output
    assert "regression: default, dear, cpu: surely worse by 2" in done.stderr
    assert "worse" in done.stdout and "their trials are not paired" in done.stdout
    assert asked(before, after).exit_code == 0, "only when asked to fail"
    assert asked(before, after, "--fail-on", "cpu:50").exit_code == 0
    assert asked(before, after, "--fail-on", "cpu:20").exit_code == 3
    assert asked(after, before, "--fail-on", "any").exit_code == 0, "better is none"
    assert asked(before / "results.json", after, "--fail-on", "any").exit_code == 3


def test_a_rate_that_nearly_vanished_is_told_by_its_factor(tmp_path: Path) -> None:
    judged = {"judged": ["rate"], "awaited": ["rate"], "shown": []}
    before, after = run(tmp_path / "a", 1, **judged)[0], run(tmp_path / "b", 400, **judged)[0]
    (told,) = re.findall(
        r"default, dear, rate: surely worse by a factor of (\d+) or more",
        asked(before, after, "--fail-on", "any").stderr,
    )
    assert 350 <= int(told) <= 400


def test_the_same_is_no_regression(tmp_path: Path) -> None:
    before, after = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 1.2)[0]
    done = asked(before, after, "--fail-on", "any", "--json")
    assert done.exit_code == 0
    (change,) = json.loads(done.stdout)["changes"]
    assert change["trend"] == "equivalent" and change["worse_by_pct"] == 0


def test_a_limit_below_the_margin_of_equivalence_is_held(tmp_path: Path) -> None:
    before, after = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 1.2)[0]
    for folder, effect in ((before, 20.0), (after, 21.2)):
        kept = json.loads((folder / "results.json").read_text())
        (scenario,) = kept["scenarios"]
        scenario["noise_floor"]["cpu"]["reach_pct"] = 0.3
        scenario["variants"]["dear"]["outcomes"]["cpu"] |= {
            "effect_pct": effect, "ci_pct": [effect - 0.2, effect + 0.2],
        }  # fmt: skip
        (folder / "results.json").write_text(json.dumps(kept))
    assert "equivalent" in asked(before, after).stdout
    # From 20 % more to 21.2 % is 1 % worse, and 0.67 % at the least.
    for limit, code in (("any", 0), ("cpu", 0), ("cpu:0.5", 3), ("any:0.5", 3), ("cpu:0.8", 0)):
        assert asked(before, after, "--fail-on", limit).exit_code == code, limit


@pytest.mark.parametrize("limit", ["any:nan", "any:-5", "cpu:inf", "any:", "any:x", ":5"])
def test_a_limit_that_nothing_exceeds_is_refused(tmp_path: Path, limit: str) -> None:
    before, after = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 1.5)[0]
    assert asked(before, after, "--fail-on", limit).exit_code == 2
    assert asked(before, after, "--fail-on", "cpu:20%").exit_code == 3


def test_effects_against_other_baselines_are_not_compared(tmp_path: Path) -> None:
    variants = {"variants": ["none", "dear", "same"]}
    before, after = run(tmp_path / "a", 1.2, **variants)[0], run(tmp_path / "b", 1.5, **variants)[0]
    kept = json.loads((after / "results.json").read_text()) | {"baselines": {"dear": "same"}}
    (after / "results.json").write_text(json.dumps(kept))
    done = asked(before, after, "--fail-on", "any")
    assert done.exit_code == 3, done.output
    assert "LOST: default, dear: against none, then against same" in done.stdout
    assert "regression" not in done.stderr
    compared = json.loads(asked(before, after, "--json").stdout)["changes"]
    assert [change["variant"] for change in compared] == ["same"]


def test_duels_are_not_compared_with_trials(tmp_path: Path) -> None:
    before, after = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 1.2)[0]
    kept = json.loads((after / "results.json").read_text()) | {"pairing": "slices"}
    (after / "results.json").write_text(json.dumps(kept))
    done = asked(before, after)
    assert "the runs were paired by trials, then by slices" in str(done.exception)


def test_an_outcome_that_is_compared_no_more_is_lost(tmp_path: Path) -> None:
    both = {"judged": ["cpu", "rate"], "shown": []}
    (before, _), (after, made) = (run(tmp_path / name, 1.2, **both) for name in ("a", "b"))
    kept = made.model_dump(mode="json")
    kept["scenarios"][0]["variants"]["dear"]["outcomes"]["cpu"] |= {
        "effect_pct": None, "ci_pct": None, "judged": False, "verdict": None,
    }  # fmt: skip
    (after / "results.json").write_text(json.dumps(kept))
    for limit, code in (("any", 3), ("cpu", 3), ("rate", 0)):
        done = asked(before, after, "--fail-on", limit)
        assert done.exit_code == code, done.output
        assert "LOST: default, dear, cpu: not compared in b" in done.stdout


def test_too_few_blocks_for_an_interval_pass_no_limit(tmp_path: Path) -> None:
    before, short = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 9.0, blocks=3)[0]
    for limit in ("any", "cpu:5"):
        for both in ((before, short), (short, before)):
            done = asked(*both, "--fail-on", limit)
            assert done.exit_code == 3, done.output
            assert "cannot be compared: default, dear, cpu: a run has " in done.stderr
    assert asked(before, short).exit_code == 0


def edited(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    kept = json.loads((folder / "results.json").read_text())
    change(kept["scenarios"][0])
    (folder / "results.json").write_text(json.dumps(kept))


def test_a_run_without_a_noise_floor_passes_no_limit(tmp_path: Path) -> None:
    before, after = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 7.0)[0]
    bare = {"effect_pct": None, "ci_pct": None, "reach_pct": None}
    edited(before, lambda scenario: scenario["noise_floor"]["cpu"].update(bare))
    for limit in ("any", "cpu:5"):
        done = asked(before, after, "--fail-on", limit)
        assert done.exit_code == 3, done.output
        assert "cannot be compared: default, dear, cpu: a run has no noise floor" in done.stderr
    assert asked(after, before, "--fail-on", "any").exit_code == 0, "better is none"
    assert asked(before, before, "--fail-on", "any").exit_code == 0


def test_an_alarm_of_a_control_passes_no_limit(tmp_path: Path) -> None:
    before, after = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 1.5)[0]
    edited(after, lambda scenario: scenario["noise_floor"]["cpu"].update(verdict="costs"))
    alarm = "b, default: the A/A control differs from the baseline in cpu"
    for both in ((before, after), (after, before)):
        done = asked(*both, "--fail-on", "any")
        assert done.exit_code == 3, done.output
        assert f"cannot be compared: {alarm}" in done.stderr.replace("20260101T000000Z-exp", "b")
        assert "regression" not in done.stderr, "nothing of that run is to be believed"
    told = asked(before, after)
    assert told.exit_code == 0 and f"DO NOT BELIEVE THIS: {alarm}" in told.stdout


def test_a_run_that_is_not_finished_is_named(tmp_path: Path) -> None:
    before, after = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 1.2, blocks=7)[0]
    assert "\nNot finished: b\n" in asked(before, after).stdout


def test_a_scenario_that_cannot_be_compared_passes_no_limit(tmp_path: Path) -> None:
    def scenarios(size: int) -> dict[str, Any]:
        one = {"name": "load=low", "levels": {"load": "low"}, "parameters": {"size": 1}}
        two = {"name": "load=high", "levels": {"load": "high"}, "parameters": {"size": size}}
        return {"scenarios": [one, two]}

    before, after = (run(tmp_path / str(size), 1.2, **scenarios(size))[0] for size in (1, 2))
    done = asked(before, after)
    assert done.exit_code == 0 and "NOT COMPARED: load=high" in done.stdout
    assert asked(before, after, "--fail-on", "any").exit_code == 3


def test_other_commands_and_rates_of_own_servers_are_named(tmp_path: Path) -> None:
    def of(name: str, command: str, rate: float) -> Path:
        scenario = {"name": "default", "levels": {}, "parameters": {"rate": rate}}
        titles = {"titles": {"none": "./old", "dear": command}}
        own = {"experiment": "servers", "study": "duel", "scenarios": [scenario]}
        return run(tmp_path / name, 1.2, HERE | titles, **own)[0]

    before = of("a", "./new", 52000.0)
    done = asked(before, of("b", "./other", 52000.0))
    assert "Not the same: command: dear ./new, then ./other\n" in done.stdout, done.output
    refused = asked(before, of("c", "./new", 3600.0))
    assert refused.exit_code == 1
    assert "these runs cannot be compared: rate 52000, then 3600; " in str(refused.exception)


def test_servers_that_were_asked_something_else_are_not_compared(tmp_path: Path) -> None:
    def of(name: str, **parameters: str) -> Path:
        scenario = {"name": "default", "levels": {}, "parameters": parameters}
        own = {"experiment": "servers", "study": "duel", "scenarios": [scenario]}
        return run(tmp_path / name, 1.2, **own)[0]

    before = of("a", request="GET /small")
    refused = asked(before, of("b", request="GET /large"))
    assert refused.exit_code == 1
    told = "these runs cannot be compared: request GET /small, then GET /large"
    assert str(refused.exception) == told
    earlier = asked(of("c"), before)
    assert earlier.exit_code == 0, earlier.exception
    assert "Not the same: default: request not stored, then GET /small\n" in earlier.stdout


def test_what_the_runs_do_not_share_is_named(tmp_path: Path) -> None:
    other = HERE | {"kernel": "7", "versions": {"none": "2"}, "fingerprint": "y"}
    found = compare(run(tmp_path / "a", 1.2)[1], run(tmp_path / "b", 1.2, other)[1])
    assert found.differences == [
        "kernel: 6, then 7",
        "versions: none 1, then 2",
        "fingerprint: the experiment's files, or what was built for it, are not the same",
    ]


def test_a_variant_that_is_gone_is_told_of_and_fails(tmp_path: Path) -> None:
    before, after = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 1.2, variants=["none"])[0]
    for limit, code in (("any", 3), ("cpu:5", 3), ("speed", 2)):
        done = asked(before, after, "--fail-on", limit)
        assert done.exit_code == code, done.output
        assert ("LOST: default, dear: not in b" in done.stdout) is (code == 3)


def test_a_variant_that_failed_once_before_and_is_gone_now_is_lost(tmp_path: Path) -> None:
    before, after = run(tmp_path / "a", 1.2)[0], run(tmp_path / "b", 1.2)[0]
    failed = {"status": "failed", "reason": "it crashed"}
    edited(before, lambda scenario: scenario["variants"]["dear"].update(failed))
    assert asked(before, before, "--fail-on", "any").exit_code == 0, "as before"
    assert asked(before, after, "--fail-on", "any").exit_code == 0
    gone = failed | {"outcomes": {}}
    edited(after, lambda scenario: scenario["variants"]["dear"].update(gone))
    done = asked(before, after, "--fail-on", "any")
    assert done.exit_code == 3, done.output
    assert "LOST: default, dear: failed: it crashed" in done.stdout


def test_runs_with_nothing_in_common_are_refused(tmp_path: Path) -> None:
    before = run(tmp_path / "a", 1.2)[1]
    after = run(tmp_path / "b", 1.2)[1]
    bare = [each.model_copy(update={"variants": {}}) for each in before.scenarios]
    with pytest.raises(NotComparable, match="no judged outcome of a variant in common"):
        compare(before.model_copy(update={"scenarios": bare}), after)


def test_servers_that_were_asked_at_another_rate_are_refused_with_the_remedy(
    tmp_path: Path,
) -> None:
    def made(rate: float) -> Results:
        scenarios = [Scenario(name="default", parameters={"rate": rate})]
        return run(tmp_path / f"{rate:g}", 1.2, scenarios=scenarios)[1]

    wanted = "rate 5000, then 4800; make the later one again with --rate 5000$"
    with pytest.raises(NotComparable, match=wanted):
        compare(made(5000.0), made(4800.0))


def test_a_slope_that_grew_is_a_regression(tmp_path: Path) -> None:
    before = Results.model_validate_json(SLOPES.read_text())
    grown = json.loads(SLOPES.read_text())
    for scenario in grown["scenarios"]:
        for sloped in scenario["slopes"]:
            one = sloped["variants"]["ebpf"]
            for name in ("slope", "difference"):
                one[name] *= 10
            for name in ("ci", "difference_ci"):
                one[name] = [10 * end for end in one[name]]
    after = tmp_path / "results.json"
    after.write_text(json.dumps(grown))
    changed = compare(before, Results.model_validate_json(after.read_text())).slopes
    assert [each.variant for each in changed if each.trend == "worse"] == ["ebpf"]
    done = asked(SLOPES, after, "--fail-on", "any")
    assert done.exit_code == 3, done.output
    assert "ebpf, ns_per_call: surely worse by " in done.stderr
    assert asked(SLOPES, after, "--fail-on", "ns_per_call:2000").exit_code == 0
    assert asked(after, SLOPES, "--fail-on", "any").exit_code == 0, "better is none"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experiment": "else"}, "different experiments: exp and else"),
        ({"baseline": "dear", "variants": ["dear", "none"]}, "different baselines: none and dear"),
    ],
)
def test_runs_that_ask_something_else_are_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    one, other = run(tmp_path / "a", 1.2), run(tmp_path / "b", 1.2, **changes)
    with pytest.raises(NotComparable, match=message):
        compare(one[1], other[1])
    assert asked(one[0], other[0]).exit_code == 1


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    folder, _ = run(tmp_path / "a", 1.2)
    assert asked(folder, folder, "--fail-on", "cpu:lots").exit_code == 2
    unknown = asked(folder, folder, "--fail-on", "speed")
    assert unknown.exit_code == 2 and "expected one of any, cpu" in unknown.stderr
    (folder / "results.json").unlink()
    assert asked(folder, folder).exit_code == 1


def test_history_shows_effects_run_by_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARE_RUNS", str(tmp_path))
    monkeypatch.setattr("tare.cli.history.experiment_names", lambda: ["exp"])
    assert "no run is stored" in CliRunner().invoke(tare, ["history"]).stdout
    for name, cost in (("20260101-a", 1.2), ("20260102-b", 1.5)):
        run(tmp_path / name, cost)
    other = CliRunner().invoke(tare, ["history", "servers"]).stdout
    assert other == "no run of servers is stored\n"
    done = CliRunner().invoke(tare, ["history", "exp"])
    assert done.exit_code == 0 and "\ndear against none, " in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.endswith("costs")]
    assert "20260101-a" in lines[0] and "+20" in lines[0]
    assert "20260102-b" in lines[1] and "+50" in lines[1]
    rows = json.loads(CliRunner().invoke(tare, ["history", "--json"]).stdout)
    assert [row["trials_valid"] for row in rows["runs"]] == [24, 24]
    unknown = CliRunner().invoke(tare, ["history", "nonsense"])
    assert unknown.exit_code != 0


def test_history_has_each_run_once_and_in_the_order_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARE_RUNS", str(tmp_path))
    run(tmp_path / "b", 1.2, run="20260101T000000Z-exp")
    run(tmp_path / "a", 1.5, run="20260102T000000Z-exp")
    run(tmp_path / "copy", 1.2, run="20260101T000000Z-exp")
    rows = json.loads(CliRunner().invoke(tare, ["history", "--json"]).stdout)["runs"]
    assert [row["run"] for row in rows] == ["20260101T000000Z-exp", "20260102T000000Z-exp"]


def test_history_shows_a_record_among_the_runs_of_its_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    monkeypatch.setenv("TARE_RUNS", str(runs))
    runs.mkdir()
    record = tmp_path / "record"
    run(record, 1.2, run="20250101T000000Z-exp")
    run(runs / "later", 1.5)
    run(runs / "other", 1.5, run="20260202T000000Z-exp", study="steady")
    done = CliRunner().invoke(tare, ["history", str(record)])
    assert done.exit_code == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.endswith("costs")]
    assert len(lines) == 2 and "+20" in lines[0] and "+50" in lines[1]
    (record / "results.json").write_text("{}")
    damaged = CliRunner().invoke(tare, ["history", str(record)])
    assert "holds no results" in str(damaged.exception)
    (record / "results.json").unlink()
    lacking = CliRunner().invoke(tare, ["history", str(record)])
    assert f"has no results.json; write it with: tare report {record}" in str(lacking.exception)
    (record / "plan.json").rename(record / "table.txt")
    lacking = CliRunner().invoke(tare, ["history", str(record)])
    assert "; its trials were not kept, and " in str(lacking.exception)
    (record / "table.txt").unlink()
    lacking = CliRunner().invoke(tare, ["history", str(record)])
    assert "results.json, so it is not the folder of a run" in str(lacking.exception)


@pytest.mark.parametrize("command", ["report", "export", "history", "compare"])
def test_a_path_without_a_run_is_told_as_a_path(tmp_path: Path, command: str) -> None:
    (tmp_path / "results.json").write_text("{}")
    more = ["--format", "csv"] if command == "export" else []
    none = CliRunner().invoke(tare, [command, str(tmp_path / "gone"), *more])
    assert f"there is no folder {tmp_path / 'gone'}; tare history" in str(none.exception)
    if command != "compare":
        file = CliRunner().invoke(tare, [command, str(tmp_path / "results.json"), *more])
        assert f"is a file; expected the folder of a run: {tmp_path}" in str(file.exception)
