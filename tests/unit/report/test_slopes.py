"""Slopes in results.json, the table, the page, the charts and the exports."""

import csv
import json
import re
from io import StringIO
from pathlib import Path

import jsonschema
import pytest
import runs
from rich.console import Console

from tare.report import drawing, export, html, results, schema, slopes, table
from tare.report.charts.forest import slope_forest
from tare.report.charts.pictures import pictures
from tare.report.folder import RunFolder, read

COSTS = {"cheap": 0.010, "twin": 0.010, "dear": 0.050}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    plan = runs.plan(
        variants=["none", *COSTS, "undosed"],
        scenarios=[{"name": "view=dose", "levels": {"view": "dose"}}],
        outcomes={"ns": runs.NS, "cpu": runs.CPU},
        judged=["ns"],
        awaited=["ns"],
        shown=[],
    )
    done = [
        runs.altered(trial, status="unavailable", reason="no call to repeat", outcomes={})
        if trial.label == "undosed"
        else trial
        for trial in runs.dosed(plan, 10, COSTS)
    ]
    return read(runs.write(tmp_path / "run", plan, done))


def printed(folder: RunFolder) -> str:
    console = Console(file=StringIO(), width=200)
    table.show(results.make(folder), console, everything=True)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_results_say_what_each_call_costs(folder: RunFolder) -> None:
    found = results.make(folder)
    (scenario,) = found.scenarios
    (sloped,) = scenario.slopes
    assert (sloped.parameter, sloped.response, sloped.unit) == ("dose", "CPU", "ns")
    assert list(sloped.variants) == ["none", *COSTS, "control"]
    for label, cost in COSTS.items():
        own = sloped.variants[label]
        assert own.slope == pytest.approx(1000 * cost, rel=0.1) and own.blocks == 10
        assert own.ci is not None and own.ci[0] <= own.slope <= own.ci[1]
        assert own.verdict == "costs" and not own.bends
        assert [at.dose for at in own.growth] == [1, 16, 64]
        assert own.growth[-1].value == pytest.approx(63 * own.slope, rel=0.01)
        assert own.intercept is not None and 11.9 < own.intercept < 13.1
        assert own.intercept_difference == pytest.approx(0, abs=0.01)
    assert sloped.response_unit == "µs"
    assert sloped.variants["none"].intercept_difference is None
    verdicts = {(pair.variant, pair.against): pair.verdict for pair in sloped.pairs}
    assert verdicts == {
        ("twin", "cheap"): "unresolved",
        ("dear", "cheap"): "costs",
        ("dear", "twin"): "costs",
    }
    assert slopes.ranked(sloped)[0] == "none" and slopes.ranked(sloped)[3:] == [
        "dear",
        "control",
    ]
    jsonschema.validate(json.loads(found.model_dump_json()), json.loads(schema.text("results")))


def test_a_slope_is_in_no_other_table(folder: RunFolder) -> None:
    (scenario,) = results.make(folder).scenarios
    assert scenario.noise_floor == {} and scenario.pairs == []
    assert all(variant.outcomes == {} for variant in scenario.variants.values())


def test_the_table_ranks_and_says_who_cannot_be_told_apart(folder: RunFolder) -> None:
    text = printed(folder)
    lines = text.splitlines()
    head = next(at for at, line in enumerate(lines) if "CPU of a call, ns: slope of CPU" in line)
    rows = [line.strip() for line in lines[head + 1 : head + 6]]
    assert rows[0].startswith("none ") and rows[3].startswith("dear ")
    assert rows[4].startswith("none (A/A control)")
    cheap = next(line for line in lines if line.strip().startswith("cheap"))
    assert "indistinguishable from twin" in cheap
    assert any("undosed: unavailable: no call to repeat" in line for line in lines)
    assert slopes.NOTE in " ".join(text.split())
    assert "µs without dose, " in text and " beyond none's" in text


def test_slopes_without_intervals_are_not_called_indistinguishable(tmp_path: Path) -> None:
    plan = runs.plan(
        variants=["none", *COSTS],
        outcomes={"ns": runs.NS, "cpu": runs.CPU},
        judged=["ns"], awaited=["ns"], shown=[],
    )  # fmt: skip
    few = read(runs.write(tmp_path / "run", plan, runs.dosed(plan, 5, COSTS)))
    assert "indistinguishable" not in printed(few)


def test_the_page_has_the_slopes_and_their_chart(folder: RunFolder) -> None:
    page = html.render(folder, results.make(folder))
    assert '<th scope="col">against none</th>' in page
    (dear,) = re.findall(r'<tr><th scope="row">dear</th>((?:<td class="\w+" title=.*)+)</tr>', page)
    assert dear.count('class="costs"') == 2 and dear.count(">+40</td>") == 2
    assert page.count("<svg") == 2 and "beyond the lowest dose" in page


def test_the_noise_floor_is_shaded_around_the_baseline_s_slope(tmp_path: Path) -> None:
    plan = runs.plan(outcomes={"ns": runs.NS, "cpu": runs.CPU}, judged=["ns"], shown=[])
    done = runs.dosed(plan, 10, {"none": 0.02, "control": 0.02, "dear": 0.05})
    found = results.make(read(runs.write(tmp_path / "run", plan, done)))
    (sloped,) = found.scenarios[0].slopes
    drawn = slope_forest(found, found.scenarios[0], sloped).to_dict()
    (band,) = [
        row for rows in drawn["datasets"].values() for row in rows if row.keys() == {"low", "high"}
    ]
    assert sloped.floor is not None
    assert (band["low"] + band["high"]) / 2 == pytest.approx(sloped.variants["none"].slope)
    assert band["high"] - band["low"] == pytest.approx(2 * sloped.floor)


def test_a_picture_and_a_table_of_slopes_are_exported(folder: RunFolder, tmp_path: Path) -> None:
    found = results.make(folder)
    names = [picture.name for picture in pictures(folder, found)]
    assert names[:2] == ["effects-ns", "ns-view=dose"]
    assert "dear" in drawing.svg(pictures(folder, found)[0].chart)
    files = {file.name: file for file in export.write("csv", folder, found, tmp_path / "csv")}
    rows = list(csv.DictReader(files["slopes.csv"].open()))
    dear = next(row for row in rows if row["variant"] == "dear")
    assert float(dear["slope_low"]) <= float(dear["slope"]) <= float(dear["slope_high"])
    assert float(dear["intercept_low"]) <= float(dear["intercept"]) <= 13
    assert (dear["unit"], dear["verdict"], dear["blocks"]) == ("ns", "costs", "10")


@pytest.mark.parametrize(("own", "verdict"), [(0.0, "unresolved"), (0.02, "costs")])
def test_the_control_of_a_slope_is_a_check_on_the_run(
    tmp_path: Path, own: float, verdict: str
) -> None:
    plan = runs.plan(
        variants=["none", *COSTS], outcomes={"ns": runs.NS, "cpu": runs.CPU}, judged=["ns"]
    )
    done = runs.dosed(plan, 10, COSTS | {"control": own})
    found = results.make(read(runs.write(tmp_path / "run", plan, done)))
    (scenario,) = found.scenarios
    (sloped,) = scenario.slopes
    control = sloped.variants["control"]
    assert control.verdict == scenario.control_verdicts()["ns"] == verdict
    assert control.difference == pytest.approx(1000 * own, abs=2)
    if verdict == "unresolved":
        assert found.alarms() == [] and "cheap" in found.answers[0]
    else:
        assert found.alarms() == [("default", "ns")]
        assert found.answers == [
            "Do not believe this run: none differs from itself in CPU of a call, by the A/A "
            "control."
        ]
