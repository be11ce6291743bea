import csv
import json
import re
import struct
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
import runs

from tare.model.trial import Plan, Trial
from tare.report import export, frames, google_benchmark, results
from tare.report.charts.medians import medians
from tare.report.charts.pictures import pictures
from tare.report.folder import RunFolder, read

HOSTILE = 'a "b" <c> \\ d,e'
SAMPLE = re.compile(r'^(\w+)\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+)$')


def run() -> tuple[Plan, list[Trial]]:
    plan = runs.plan(
        variants=["none", "dear", "same", "gone"],
        outcomes={"cpu": runs.CPU.model_copy(update={"title": HOSTILE}), "rate": runs.RATE},
    )
    done = [
        runs.altered(trial, status="failed", reason=HOSTILE, outcomes={})
        if trial.label == "gone"
        else trial
        for trial in runs.trials(plan, 8, {"dear": 1.2})
    ]
    return plan, done


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return read(runs.write(tmp_path / "run", *run()))


def written(folder: RunFolder, form: str) -> dict[str, Path]:
    target = folder.path / "there" / form
    files = list(export.write(form, folder, results.make(folder), target))
    assert files and all(file.parent == target for file in files)
    return {file.name: file for file in files}


def test_csv_holds_every_trial_and_every_outcome(folder: RunFolder) -> None:
    files = written(folder, "csv")
    tables = {name: list(csv.DictReader(file.open())) for name, file in files.items()}
    assert list(tables) == ["trials.csv", "summary.csv", "slopes.csv", "pairs.csv"]
    rows = tables["trials.csv"]
    assert list(rows[0]) == list(frames.COLUMNS["trials"])
    found = {
        (row["label"], int(row["block"]), row["outcome"]): float(row["value"])
        for row in rows
        if row["status"] == "valid"
    }
    assert found == {
        (trial.label, trial.block, name): value
        for trial in folder.trials
        for name, value in trial.outcomes.items()
    }
    lost = [row for row in rows if row["status"] == "failed"]
    assert len(lost) == 8 and {(row["reason"], row["value"]) for row in lost} == {(HOSTILE, "")}
    (dear,) = [
        row for row in tables["summary.csv"] if (row["variant"], row["outcome"]) == ("dear", "cpu")
    ]
    assert float(dear["effect_pct"]) == pytest.approx(20, abs=1)
    assert float(dear["effect_low_pct"]) < float(dear["effect_high_pct"])
    assert (dear["verdict"], dear["unit"]) == ("costs", "µs")
    (gone,) = [row for row in tables["summary.csv"] if row["variant"] == "gone"]
    assert (gone["status"], gone["outcome"], gone["median"]) == ("failed", "", "")
    (pair,) = tables["pairs.csv"]
    assert (pair["variant"], pair["against"], pair["outcome"]) == ("same", "dear", "cpu")


def test_parquet_says_the_same_as_csv(folder: RunFolder) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    files, text = written(folder, "parquet"), written(folder, "csv")
    for name in frames.COLUMNS:
        table = parquet.read_table(files[f"{name}.parquet"])
        read_back = csv.DictReader(text[f"{name}.csv"].open())
        rows = list(read_back)
        assert table.column_names == list(read_back.fieldnames or [])
        shown = [
            {key: "" if item is None else str(item) for key, item in row.items()}
            for row in table.to_pylist()
        ]
        assert shown == rows


def test_google_benchmark_has_as_many_repetitions_as_were_made(folder: RunFolder) -> None:
    file = written(folder, "google-benchmark")["google-benchmark.json"]
    made = json.loads(file.read_text())["benchmarks"]
    counted = Counter(item["name"] for item in made)
    assert made and all(item["repetitions"] == counted[item["name"]] for item in made)


def test_openmetrics_is_one_family_after_the_other(folder: RunFolder) -> None:
    lines = written(folder, "openmetrics")["openmetrics.txt"].read_text().splitlines()
    assert lines[-1] == "# EOF" and len(lines) == len(set(lines))
    family, families, values = "", [], {}
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            family = line.split()[2]
            families.append(family)
        elif not line.startswith("#"):
            sample = SAMPLE.match(line)
            assert sample and sample[1] == family, line
            values[sample[1], sample[2]] = float(sample[3])
    assert len(families) == len(set(families))
    (ratio,) = [
        value
        for (name, labels), value in values.items()
        if name == "tare_effect_ratio" and 'variant="dear",outcome="cpu"' in labels
    ]
    assert ratio == pytest.approx(1.2, abs=0.01)


def test_google_benchmark_has_a_repetition_for_each_trial(folder: RunFolder) -> None:
    file = written(folder, "google-benchmark")["google-benchmark.json"]
    content = json.loads(file.read_text())
    own = [item for item in content["benchmarks"] if item["name"] == "exp/default/dear/cpu"]
    assert [item["repetition_index"] for item in own] == list(range(8))
    costs = [trial.outcomes["cpu"] for trial in folder.trials if trial.label == "dear"]
    assert [item["real_time"] for item in own] == costs
    assert {item["time_unit"] for item in own} == {"us"}
    assert own[0]["rate"] == pytest.approx(1000 / own[0]["real_time"])
    assert not [item for item in content["benchmarks"] if "gone" in item["name"]]
    assert len({item["family_index"] for item in content["benchmarks"]}) == 4


def test_google_benchmark_takes_the_plan_s_names(tmp_path: Path) -> None:
    outcomes = {"cpu": runs.CPU, "time": runs.CPU, "rate": runs.RATE}
    named = {
        label: {
            "name": f"BM_X/mode:{label}",
            "label": label,
            "real_time": "time",
            "cpu_time": "cpu",
            "counters": {"size": 9},
        }
        for label in ("none", "dear", "control")
    }
    plan = runs.plan(outcomes=outcomes, benchmarks={"default": named})
    done = [
        runs.altered(
            trial,
            outcomes=trial.outcomes | {"time": 50.0 + trial.block},
            instrument={"outcomes": {"requests": 70}},
        )
        for trial in runs.trials(plan, 8, {})
    ]
    folder = read(runs.write(tmp_path / "run", plan, done))
    found = google_benchmark.content(folder, folder)["benchmarks"]
    assert len(found) == 2 * len(done) == 48, "all runs'"
    first = next(item for item in found if item["name"] == "BM_X/mode:dear")
    costs = next(trial.outcomes["cpu"] for trial in done if trial.label == "dear")
    assert (first["real_time"], first["cpu_time"], first["time_unit"]) == (50.0, costs, "us")
    assert (first["iterations"], first["label"], first["size"]) == (70, "dear", 9)
    assert "rate" in first and "cpu" not in first and "time" not in first


def test_charts_are_drawn_for_each_outcome_and_the_latencies(folder: RunFolder) -> None:
    names = ["effects-cpu", "latency-by-percentile-default", "cpu", "rate"]
    svgs, pngs = written(folder, "svg"), written(folder, "png")
    assert list(svgs) == [f"{name}.svg" for name in names]
    assert list(pngs) == [f"{name}.png" for name in names]
    for file in svgs.values():
        root = ElementTree.parse(file).getroot()
        assert root.tag.endswith("svg")
    words = "".join(ElementTree.parse(svgs["cpu.svg"]).getroot().itertext())
    assert f"{HOSTILE}, µs: lower is better" in words and "noise floor" in words
    words = "".join(ElementTree.parse(svgs["effects-cpu.svg"]).getroot().itertext())
    assert "+20 %" in words and "margin, ±2 %" in words and "A/A control" in words
    for file in pngs.values():
        head = file.read_bytes()[:24]
        width, height = struct.unpack(">II", head[16:24])
        assert head[:8] == b"\x89PNG\r\n\x1a\n" and width > 600 and height > 100


def test_variants_stand_best_first(folder: RunFolder) -> None:
    made = results.make(folder)
    for name, best in (("cpu", ["dear"]), ("rate", ["dear"])):
        chart = medians(made, made.scenarios[0], name)
        assert chart is not None
        words = json.dumps(chart.to_dict(), ensure_ascii=False)
        (order,) = {tuple(json.loads(text)) for text in re.findall(r'"sort": (\[.*?\])', words)}
        assert order[-1:] == tuple(best), "dear is worst in both directions"


def test_a_run_without_anything_measured_draws_nothing(tmp_path: Path) -> None:
    folder = read(runs.write(tmp_path / "run", runs.plan(), []))
    assert pictures(folder, results.make(folder)) == []


def test_one_block_is_drawn_without_intervals(tmp_path: Path) -> None:
    plan = runs.plan(blocks={"min": 1, "max": 1})
    folder = read(runs.write(tmp_path / "run", plan, runs.trials(plan, 1, {"dear": 1.2})))
    (file,) = [file for name, file in written(folder, "svg").items() if name == "cpu.svg"]
    assert "no interval" in file.read_text()
