"""The decision of a gate, on built results."""

import json
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import runs
from built import case, outcome, results
from click.testing import CliRunner, Result

from tare.cli.main import main, tare
from tare.lab.errors import TareError
from tare.model.trial import Trial
from tare.report.gate import DEFAULT_LIMITS, alarm, rulings, unmeasured
from tare.report.gate_formats import FORMATS
from tare.report.results import NOT_YET


@pytest.mark.parametrize(
    ("interval", "decision"),
    [
        ((2.1, 3.4), "fail"),
        ((1.9, 3.4), "cannot-tell"),
        ((-0.3, 1.9), "pass"),
        ((-0.3, 2.1), "cannot-tell"),
        ((-9.0, -8.0), "pass"),
    ],
)
def test_only_an_interval_beyond_the_limit_fails(
    interval: tuple[float, float], decision: str
) -> None:
    found = results(
        case({"new": {"cpu": outcome("CPU per request", "costs", sum(interval) / 2, *interval)}})
    )
    (ruling,) = rulings(found, {"cpu": 2.0})
    assert (ruling.variant, ruling.outcome, ruling.decision) == ("new", "cpu", decision)


def test_a_rate_gets_worse_by_falling() -> None:
    fallen = outcome("Requests per second", "costs", -5.0, -6.0, -4.0) | {"better": "higher"}
    (ruling,) = rulings(results(case({"new": {"rate": fallen}})), {"rate": 2.0})
    assert ruling.decision == "fail"
    assert ruling.text == ("Requests per second -5.0 % [-6.0, -4.0]: surely worse by more than 2 %")


def test_an_alarm_of_the_control_leaves_nothing_to_decide() -> None:
    found = results(
        case({"new": {"cpu": outcome("CPU per request", "costs", 50.0, 40.0, 60.0)}}, floor="costs")
    )
    (ruling,) = rulings(found, {"cpu": 2.0})
    assert ruling.decision == "cannot-tell" and "A/A control differs" in ruling.text


@pytest.mark.parametrize("form", FORMATS)
def test_an_alarm_is_said_before_all_else_and_to_people_where_a_file_has_it(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worse = outcome("Server CPU per request", "costs", 50.0, 40.0, 60.0)
    found = results(case({"new": {"cpu_us_per_request": worse}}, floor="costs"))
    said = alarm(found)
    assert said is not None and said.startswith("Do not believe this run: old differs from itself")
    assert "So no limit was checked: exit code 0 is no pass here. Run the gate again" in said
    monkeypatch.setattr("tare.cli.gate.prepare", lambda *_: SimpleNamespace(folder=tmp_path))
    monkeypatch.setattr("tare.cli.running.execute", lambda _: None)
    monkeypatch.setattr("tare.cli.running.written", lambda _: found)
    done = CliRunner().invoke(tare, ["gate", "./a {port}", "./b {port}", "--format", form])
    assert done.exit_code == 0, done.output
    assert "no limit was checked" in done.stdout
    assert ("no limit was checked" in done.stderr) is (form in ("json", "junit", "markdown"))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("error", [TareError("new ends"), PermissionError(13, "no", "new ends")])
def test_an_error_is_said_in_the_format_and_to_people(
    form: str, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tare.cli.gate.prepare", Mock(side_effect=error))
    monkeypatch.setattr("sys.argv", ["tare", "gate", "./a {port}", "./b {port}", "--format", form])
    with pytest.raises(SystemExit, match="1"):
        main()
    said = capsys.readouterr()
    assert said.err.startswith("tare: new ends")
    assert ("new ends" in said.out) is (form != "text")


def test_servers_that_were_not_measured_are_an_error_in_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = results(case({"new": {}}))
    broken = (
        found.scenarios[0]
        .variants["new"]
        .model_copy(update={"status": "failed", "reason": "crashed\nwith words"})
    )
    found.scenarios[0].variants["new"] = broken
    monkeypatch.setattr("tare.cli.gate.prepare", lambda *_: SimpleNamespace(folder=tmp_path))
    monkeypatch.setattr("tare.cli.running.execute", lambda _: None)
    monkeypatch.setattr("tare.cli.running.written", lambda _: found)
    command = ["tare", "gate", "./a {port}", "./b {port}", "--format", "json"]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit, match="1"):
        main()
    said = capsys.readouterr()
    assert said.err == "tare: new: crashed\nwith words\n"
    told = json.loads(said.out)
    assert (told["error"], told["run"]) == ("new: crashed\nwith words", tmp_path.name)


def test_where_a_server_failed_those_that_it_kept_from_being_measured_are_not_named() -> None:
    found = results(case({"new": {}}))
    every = found.scenarios[0].variants
    lost = {"status": "invalid", "trials_valid": 0}
    for name in every:
        every[name] = every[name].model_copy(update=lost | {"reason": NOT_YET})
    late = "not measured yet; a longer --within gives it the time"
    assert unmeasured(found) == [f"{name}: {late}" for name in ("old", "new", "control")]
    refused = {"reason": "its opponent old is failed: crashed", "trials_invalid": 1}
    every["new"] = every["new"].model_copy(update=refused)
    assert unmeasured(found) == ["new: its opponent old is failed: crashed"]
    every["old"] = every["old"].model_copy(update={"status": "failed", "reason": "crashed"})
    assert unmeasured(found) == ["old: crashed"]


def test_a_sound_run_has_no_alarm() -> None:
    assert alarm(results(case({"new": {}}))) is None


def test_without_an_interval_nothing_can_be_told() -> None:
    short = outcome("CPU per request", "unresolved", 9.0, 8.0, 10.0) | {"ci_pct": None}
    (ruling,) = rulings(results(case({"new": {"cpu": short}})), {"cpu": 2.0})
    assert ruling.decision == "cannot-tell"


def test_a_default_limit_of_what_no_trial_could_name_is_left_out_beside_others() -> None:
    rare, common = DEFAULT_LIMITS
    known = outcome("CPU per request", "equivalent", 0.5, 0.1, 0.9)
    absent = outcome("CPU in ordinary rounds", "unresolved", 0.0, 0.0, 0.0)
    absent |= {"median": None, "effect_pct": None, "ci_pct": None}
    both = results(case({"new": {rare: absent, common: known}}))
    (ruling,) = rulings(both, DEFAULT_LIMITS)
    assert (ruling.outcome, ruling.decision) == (common, "pass")
    first, second = rulings(results(case({"new": {rare: absent}})), DEFAULT_LIMITS)
    assert {first.decision, second.decision} == {"cannot-tell"}, "there is no other"
    first, second = rulings(both, {rare: 2.0, common: 3.0})
    assert (first.decision, second.decision) == ("cannot-tell", "pass"), "it was asked for"
    assert first.text.endswith(": cannot tell: no trial had a value of it")


def test_a_gate_that_is_resumed_still_fails(tmp_path: Path) -> None:
    for cost, code in ((1.2, 3), (1.0, 0)):
        plan = runs.plan(limits={"cpu": 2.0})
        folder = runs.write(tmp_path / str(cost), plan, runs.trials(plan, 8, {"dear": cost}))
        done = CliRunner().invoke(tare, ["resume", str(folder)])
        assert done.exit_code == code, done.output
        assert f"{'fail' if code else 'pass'}: dear: CPU " in done.stderr


def test_a_gate_that_is_resumed_exits_as_one_that_was_not_stopped(tmp_path: Path) -> None:
    plan = runs.plan(limits={"cpu": 2.0})

    def resumed(name: str, trials: list[Trial]) -> Result:
        folder = runs.write(tmp_path / name, plan, trials)
        return CliRunner().invoke(tare, ["resume", str(folder)])

    alarmed = resumed("alarm", runs.trials(plan, 8, {"dear": 1.2, "control": 1.2}))
    assert alarmed.exit_code == 0, alarmed.output
    assert "cannot-tell: dear: CPU " in alarmed.stderr
    assert "So no limit was checked: exit code 0 is no pass here." in alarmed.stderr
    failed = [
        runs.altered(each, status="failed", reason="crashed", outcomes={})
        if (each.label, each.block) == ("dear", 0)
        else each
        for each in runs.trials(plan, 8, {"dear": 1.2})
    ]
    broken = resumed("broken", failed)
    assert broken.exit_code == 1, broken.output
    assert "dear: crashed" in broken.stderr
