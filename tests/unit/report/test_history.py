"""Series of runs: what belongs together, what is left out, and what is said of a change."""

from pathlib import Path
from typing import Any

import built
import pytest
from click.testing import CliRunner

from tare.cli.main import tare
from tare.model.history import History
from tare.model.results import Results
from tare.report.history import history
from tare.report.history_page import render
from tare.report.history_words import heading, remark, sentences

STEADY = [2.0, 2.2, 1.9, 2.1, 2.0]
RISEN = [6.0, 6.3, 5.9, 6.1, 6.2]


def run(number: int, effect: float, *, floor: str = "equivalent", **changes: Any) -> Results:
    cpu = built.outcome("CPU", "costs", effect, effect - 0.5, effect + 0.5)
    scenario = built.case({"new": {"cpu": cpu}}, floor=floor)
    fields = {"experiment": "echo", "study": "main", "run": f"run{number:02}"}
    scenario["parameters"] = changes.pop("parameters", {})
    return built.results(scenario, **fields | changes)


def risen(**changes: Any) -> list[Results]:
    after = {"environment": {"kernel": "7"}} | changes
    return [run(number, each) for number, each in enumerate(STEADY)] + [
        run(number, each, **after) for number, each in enumerate(RISEN, start=len(STEADY))
    ]


def said(found: History) -> str:
    return "\n".join(sentences(found))


def test_a_change_is_told_with_what_else_changed() -> None:
    found = history(risen())
    (series,) = found.series
    (change,) = series.changes
    assert (change.run, change.trend) == ("run05", "worse")
    assert (change.before.median, change.after.median) == (2.0, 6.1)
    told = said(found)
    assert "worse since run05, from +2.00 % [+1.90, +2.20] to +6.10 % [+5.90, +6.30]" in told
    assert told.endswith("Also not the same since then: kernel: None, then 7.")
    assert remark(series, series.points[5]) == "worse since this run; kernel: None, then 7"


def test_another_spread_about_the_same_middle_is_neither_worse_nor_better() -> None:
    narrow = [2.0 + 0.01 * (number % 5 - 2) for number in range(20)]
    wide = [2.0 + 0.8 * (number % 5 - 2) * (-1) ** number for number in range(20)]
    (series,) = history([run(at, each) for at, each in enumerate(narrow + wide)]).series
    assert [change.trend for change in series.changes] == ["changed"]
    told = said(history([run(at, each) for at, each in enumerate(narrow + wide)]))
    assert "changed since run20, from +2.00 % [+1.98, +2.02] to " in told


def test_a_steady_effect_has_not_changed() -> None:
    found = history([run(number, each) for number, each in enumerate(STEADY * 2)])
    assert said(found) == "No change was found in 1 effect over up to 10 runs."


def test_few_runs_cannot_tell() -> None:
    found = history(risen()[2:-2])
    assert not found.series[0].changes
    assert said(found).startswith("Too few runs to tell whether an effect changed: it takes 8 ")


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"complete": False}, "the run is not finished"), ({"floor": "costs"}, "its A/A control")],
)
def test_runs_that_are_not_to_be_believed_are_left_out(changes: dict[str, Any], why: str) -> None:
    (series,) = history(risen(**changes)).series
    assert len(series.points) == 10 and not series.changes
    assert [point.left_out is not None for point in series.points] == [False] * 5 + [True] * 5
    assert why in remark(series, series.points[-1])


def test_an_alarm_in_one_outcome_leaves_out_all_of_its_scenario() -> None:
    known = built.outcome("CPU", "costs", 2.0, 1.5, 2.5)
    scenario = built.case({"new": {"cpu": known, "p50": known}})
    scenario["noise_floor"]["p50"]["verdict"] = "costs"
    for series in history([built.results(scenario)]).series:
        (point,) = series.points
        assert point.left_out == "its A/A control differs from the baseline", series.outcome


def test_runs_of_other_questions_are_series_of_their_own() -> None:
    for changes in ({"study": "rate"}, {"parameters": {"connections": 9}}, {"experiment": "cache"}):
        assert [len(each.points) for each in history(risen(**changes)).series] == [5, 5]
    longer = history(risen(parameters={"duration_s": 9}))
    assert [len(each.points) for each in longer.series] == [10], "a matter of effort only"


def test_duels_and_trials_are_series_of_their_own() -> None:
    first, second = history([run(1, 1.0, pairing="trials"), run(2, 1.0, pairing="slices")]).series
    assert (first.scenario_title, second.scenario_title) == ("by trials", "by slices")


def test_other_commands_of_ones_own_servers_are_series_of_their_own() -> None:
    def own(command: str) -> dict[str, Any]:
        titles = {"old": "./server", "new": command}
        return {"experiment": "servers", "environment": {"titles": titles}}

    runs = [
        run(number, effect, **own(command))
        for command in ("./a", "./b")
        for number, effect in enumerate(STEADY)
    ]
    assert [len(each.points) for each in history(runs).series] == [5, 5]


def test_other_requests_to_ones_own_servers_are_series_of_their_own() -> None:
    def of(path: str) -> dict[str, Any]:
        parameters = {"request": f"GET {path}", "rate": 5000.0}
        return {"experiment": "servers", "parameters": parameters}

    small = [run(number, each, **of("/small")) for number, each in enumerate(STEADY)]
    large = [run(number, each, **of("/large")) for number, each in enumerate(RISEN, start=5)]
    one, other = history([*small, *large]).series
    assert [len(each.points) for each in (one, other)] == [5, 5]
    assert heading(one) == "GET /small, 5000 requests/s: new against old, CPU"
    assert heading(other).startswith("GET /large, ")


def test_more_series_ask_for_a_larger_change() -> None:
    alone = history(risen())
    many = history(
        [
            run(number, effect, study=study)
            for study in "abcdefghij"
            for number, effect in enumerate(STEADY + RISEN)
        ]
    )
    assert many.level < alone.level and many.fewest > alone.fewest


def test_the_page_has_the_answer_first(tmp_path: Path) -> None:
    text = render(history(risen()))
    assert text.index("worse since run05") < text.index("<svg") < text.index("<table")


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARE_RUNS", str(tmp_path))
    for each in risen():
        (tmp_path / each.run).mkdir()
        (tmp_path / each.run / "results.json").write_text(each.model_dump_json())
    page = tmp_path / "page.html"
    done = CliRunner().invoke(tare, ["history", "echo", "--page", str(page)])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("echo/main, new against old, CPU: worse since run05")
    assert page.read_text().startswith("<!doctype html>")
    nowhere = CliRunner().invoke(tare, ["history", "echo", "--page", str(tmp_path / "no" / "p")])
    assert nowhere.exit_code == 1 and "Traceback" not in nowhere.output
