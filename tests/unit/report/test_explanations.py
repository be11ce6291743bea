"""What explains a ranking: CPU by who spent it, trials by the clock, load, configuration."""

import json
from pathlib import Path
from typing import Any

import pytest
import runs

from tare.model.trial import Trial
from tare.report import results
from tare.report.charts.forest import forest
from tare.report.charts.load import load
from tare.report.charts.summary import summary
from tare.report.charts.ticks import labels, ratio_ticks
from tare.report.charts.trials import trials
from tare.report.configs import configs
from tare.report.folder import RunFolder, read
from tare.report.gates import gates
from tare.report.spent import spent


def folder(tmp_path: Path, change: Any = None, environment: str = "{}", **plan: Any) -> RunFolder:
    made = runs.plan(**plan)
    done = runs.trials(made, 9, {"dear": 2.0})
    changed = [runs.altered(trial, **(change(trial) if change else {})) for trial in done]
    return read(runs.write(tmp_path / "run", made, changed, environment))


def drawn(chart: Any) -> dict[str, Any]:
    assert chart is not None
    found: dict[str, Any] = chart.to_dict(validate=False)
    return found


def values(chart: Any, layer: int = 0) -> list[dict[str, Any]]:
    whole = drawn(chart)
    data = whole["layer"][layer].get("data") or whole["data"]
    found: list[dict[str, Any]] = data.get("values") or whole["datasets"][data["name"]]
    return found


def test_cpu_is_divided_by_roles_and_adds_up(tmp_path: Path) -> None:
    def roles(trial: Trial) -> dict[str, Any]:
        own = {"sut": {"cpu_us": 4000.0}, "load": {"cpu_us": 1000.0}, "idle": {"cpu_us": 0.0}}
        return {"roles": own, "instrument": {"outcomes": {"requests": 100}}}

    assert spent(folder(tmp_path, roles), "default") == {
        label: {"server": 40.0, "load generator": 10.0} for label in ("none", "dear", "control")
    }, "a role that spent nothing is left out"


def test_cpu_is_divided_as_a_study_s_outcomes_say(tmp_path: Path) -> None:
    part = {"unit": "µs", "better": "lower", "value": "probe.x_us"}
    outcomes = {
        "cpu": runs.CPU,
        "kernel": part | {"title": "of it kernel threads"},
        "sut": part | {"title": "of it the server"},
    }

    def parts(trial: Trial) -> dict[str, Any]:
        less = 1.0 if trial.label == "dear" else 9.0
        return {"outcomes": {"cpu": 10.0, "kernel": 3.0, "sut": less}}

    found = spent(folder(tmp_path, parts, outcomes=outcomes, shown=["kernel", "sut"]), "default")
    assert next(iter(found)) == "dear", "the smallest first"
    assert found["dear"] == {"kernel threads": 3.0, "server": 1.0}


def test_without_requests_nobody_s_share_is_known(tmp_path: Path) -> None:
    assert spent(folder(tmp_path), "default") == {}


def test_trials_stand_by_the_clock_and_refused_ones_apart(tmp_path: Path) -> None:
    def timed(trial: Trial) -> dict[str, Any]:
        status = "invalid" if (trial.block, trial.label) == (3, "dear") else "valid"
        return {"started": f"2026-01-01T00:{trial.block:02}:30+00:00", "status": status}

    run = folder(tmp_path, timed)
    made = results.make(run)
    points = values(trials(run, made, made.scenarios[0], "cpu"))
    assert len(points) == 27 and {point["at"] for point in points} == set(range(9))
    kinds = [point["kind"] for point in points]
    assert kinds.count("refused by a gate") == 1 and kinds.count("A/A control") == 9
    # The machine of these runs gets slower by 10 % a block.
    first, last = (
        next(p["ratio"] for p in points if p["at"] == at and p["kind"] == "none") for at in (0, 8)
    )
    assert first == pytest.approx(1 / 1.4, rel=0.01) and last == pytest.approx(1.8 / 1.4, rel=0.01)


def test_very_many_trials_are_drawn_as_medians(tmp_path: Path) -> None:
    def timed(trial: Trial) -> dict[str, Any]:
        return {"started": f"2026-01-01T{trial.block // 60:02}:{trial.block % 60:02}:30+00:00"}

    made = runs.plan()
    done = [runs.altered(trial, **timed(trial)) for trial in runs.trials(made, 101, {})]
    run = read(runs.write(tmp_path / "run", made, done))
    chart = trials(run, found := results.make(run), found.scenarios[0], "cpu")
    assert "minutes since the first trial; medians of 2 trials" in json.dumps(drawn(chart))
    points = [point for point in values(chart) if point["kind"] == "none"]
    assert [point["at"] for point in points] == [0.5 + 2 * at for at in range(50)] + [100]


def test_trials_without_a_time_are_not_drawn(tmp_path: Path) -> None:
    run = folder(tmp_path)
    made = results.make(run)
    assert trials(run, made, made.scenarios[0], "cpu") is None


def test_latency_against_load_has_the_windows_and_the_knees(tmp_path: Path) -> None:
    def searched(trial: Trial) -> dict[str, Any]:
        knee = 500.0 if trial.label == "dear" else 1000.0
        windows = [
            {"rate": knee / 2, "value": 80.0, "held": True, "spoilt": []},
            {"rate": knee, "value": 99.0, "held": True, "spoilt": []},
            {"rate": knee * 2, "value": 900.0, "held": False, "spoilt": ["steal"]},
            {"rate": knee * 2, "value": None, "held": False, "spoilt": []},
        ]
        return {"instrument": {"capacity": {"limit": 100.0, "rate": knee, "windows": windows}}}

    run = folder(tmp_path, searched)
    made = results.make(run)
    chart = load(run, made, made.scenarios[0])
    points = values(chart)
    assert len(points) == 2 * 2 * 9, "disturbed windows and those without a value are left out"
    assert values(chart, 1) == [{"value": 100.0}]
    assert values(chart, 2) == [
        {"label": "none", "rate": 1000.0} if label == "none" else {"label": "dear", "rate": 500.0}
        for label in dict.fromkeys(point["label"] for point in points)
    ]
    assert load(folder(tmp_path / "again"), made, made.scenarios[0]) is None


def test_the_latencies_of_doses_are_not_mixed(tmp_path: Path) -> None:
    plan = runs.plan(
        outcomes={"ns": runs.NS, "cpu": runs.CPU}, judged=["ns"], awaited=["ns"], shown=[]
    )
    done = runs.dosed(plan, 9, {"dear": 0.05})
    run = read(runs.write(tmp_path / "run", plan, done))
    assert run.latency("default", "dear") is None and spent(run, "default") == {}
    assert results.make(run).scenarios[0].variants["dear"].latency == {}


SCENARIOS = [
    {"name": f"load={level}", "levels": {"load": level}} for level in ("low", "middle", "high")
]


def test_an_outcome_has_one_scale_in_all_scenarios(tmp_path: Path) -> None:
    def dearer(trial: Trial) -> dict[str, Any]:
        factor = 10 if (trial.scenario, trial.label) == ("load=high", "dear") else 1
        return {"outcomes": {"cpu": (trial.outcomes["cpu"] or 0) * factor, "rate": 1.0}}

    made = results.make(folder(tmp_path, dearer, scenarios=SCENARIOS))
    domains = {
        json.dumps(layer["encoding"]["x"]["scale"]["domain"])
        for scenario in made.scenarios
        for layer in drawn(forest(made, scenario, "cpu"))["layer"]
        if "scale" in layer["encoding"]["x"]
    }
    (domain,) = map(json.loads, domains)
    assert domain[0] < 1 / 1.02 and domain[1] > 20
    rows = values(summary(made))
    assert {(row["label"], row["text"]) for row in rows} == {("dear", "2×"), ("dear", "20×")}


def test_ticks_are_apart_and_named_as_people_read_them() -> None:
    ticks = ratio_ticks(0.05, 12.0, 270)
    assert 1.0 in ticks and ticks == sorted(ticks) and 4 <= len(ticks) <= 9
    named = labels([0.1, 0.8, 1.0, 1.05, 10.0])
    assert all(f"'{name}'" in named for name in ("÷10", "-20 %", "0", "+5 %", "10×"))
    assert len(ratio_ticks(0.999, 1.001, 270)) >= 3, "also where all is close to equal"


SHARED = "".join(f"a {number}\n" for number in range(10))


def test_configuration_is_told_by_differences(tmp_path: Path) -> None:
    files = {
        "none default": {"sut/server.conf": SHARED + "b\nc\n", "sut/body": "x"},
        "dear default": {"sut/server.conf": SHARED + "B\nc\n", "sut/body": "x", "sut/own": "own\n"},
    }
    found = configs(folder(tmp_path, environment=json.dumps({"files": files})))
    assert [(each.variant, each.title, each.against) for each in found] == [
        ("none", "none, default: sut/server.conf", ""),
        ("none", "none, default: sut/body", ""),
        ("dear", "dear, default: sut/server.conf", "none, default: sut/server.conf"),
        ("dear", "dear, default: sut/own", ""),
    ], "each content once"
    assert found[2].text.splitlines()[1:] == [" a 9", "-b", "+B", " c"]


def test_gates_say_how_often_they_refused_and_which_are_off(tmp_path: Path) -> None:
    def judged(trial: Trial) -> dict[str, Any]:
        late = {"name": "generator", "kind": "generator", "ok": trial.block > 1, "found": "99 %"}
        loud = {"name": "steal", "kind": "machine", "ok": False, "found": "20 %"}
        why = {"off": "a guest sees no steal"}
        return {"gates": [late | {"wanted": "97 %"}, loud | {"wanted": "10 %"} | why]}

    found = gates(folder(tmp_path, judged).trials)
    assert [(each.name, each.wanted, each.judged, each.refused) for each in found] == [
        ("generator", "97 %", 27, 6),
        ("steal", "10 %", 27, 0),
    ]
    assert found[1].off == "a guest sees no steal"
