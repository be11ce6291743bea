"""A long run cut into studies: what is right and what is wrong is counted as it is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from runs import CPU, plan, trials

from tare.lab.paths import ROOT
from tare.lab.project import catalog
from tare.model.outcome import Outcome
from tare.model.scenario import Scenario
from tare.model.series import Series
from tare.model.study import Blocks, Calibrates
from tare.report import series
from tare.report.errors import ReportError
from tare.report.folder import RunFolder, read
from tare.stats.proportion import exact_interval

CALIBRATES = Calibrates(outcome="cpu", truth="burnt")
TRUTH = Outcome(title="Burnt", unit="%", better="lower", value="probe.burnt")
RECORDS = ("calibration", "calibration-longer", "calibration-800")


def run(blocks: int, *, truth: float, real: float, noise: float = 0.01) -> RunFolder:
    """A run whose server says that it costs `truth` percent more, and really costs `real`."""
    made = plan(
        outcomes={"cpu": CPU, "burnt": TRUTH},
        judged=["cpu"],
        awaited=["cpu"],
        blocks=Blocks(min=blocks, max=blocks),
    )
    random = np.random.default_rng(7)
    known = []
    for trial in trials(made, blocks, {}):
        dear = trial.label == "dear"
        cost = 10 * (1 + real / 100 * dear) * float(np.exp(random.normal(0, noise)))
        outcomes = {"cpu": cost, "burnt": truth if dear else 0.0}
        known.append(trial.model_copy(update={"outcomes": outcomes}))
    return RunFolder(Path("r"), made, known, {})


def cut(found: RunFolder, blocks: int = 10) -> Series:
    (only,) = series.cut([found], CALIBRATES, blocks)
    return only


def test_equals_are_seldom_told_apart() -> None:
    found = cut(run(405, truth=0.0, real=0.0))
    assert found.studies == 40, "what is left of the run is no whole study"
    for looks in (found.fixed, found.peeking):
        assert looks.wrong == looks.costs + looks.saves <= 3
        assert looks.covered >= 0.85 * looks.intervals
        total = looks.costs + looks.saves + looks.equivalent + looks.unresolved
        assert total == found.studies
    assert found.fixed.intervals == 40 and found.fixed.blocks == 10


def test_a_known_difference_is_found_and_sooner_by_looking_often() -> None:
    found = cut(run(400, truth=20.0, real=20.0), blocks=20)
    assert (found.fixed.costs, found.fixed.wrong) == (20, 0)
    assert found.peeking.costs == 20 and found.peeking.blocks < found.fixed.blocks == 20
    assert found.fixed.covered >= 17


def test_a_server_that_adds_work_does_a_little_less_of_its_own() -> None:
    assert series.contains((0.8, 0.92), 1.0) and series.contains((0.95, 1.2), 1.0)
    assert not series.contains((0.7, 0.85), 1.0) and not series.contains((1.05, 1.2), 1.0)
    assert series.contains((-0.1, 0.1), 0.0) and not series.contains((0.1, 0.2), 0.0)
    assert series.contains((-0.95, -0.8), -1.0)


def test_a_verdict_against_the_truth_is_wrong() -> None:
    found = cut(run(200, truth=20.0, real=-20.0))
    assert (found.fixed.saves, found.fixed.wrong, found.fixed.covered) == (20, 20, 0)
    found = cut(run(200, truth=0.0, real=20.0))
    assert found.fixed.wrong == found.fixed.costs == 20


def test_a_run_without_a_whole_study_is_refused() -> None:
    with pytest.raises(ReportError, match="found no 10 whole blocks"):
        series.cut([run(9, truth=0.0, real=0.0)], CALIBRATES, 10)


def test_it_is_told_in_words() -> None:
    first, once, often = series.sentences(cut(run(200, truth=0.0, real=20.0)))
    assert first == "CPU, 20 studies (default), added +0.00 %"
    assert once.startswith(
        "  looked at once, 10.0 blocks each: 20 wrong (83.2 to 100.0 %); 20 cost, 0 save"
    )
    assert "looked at after every block that could decide, " in often


def test_studies_of_several_runs_are_counted_together() -> None:
    runs = [run(40, truth=20.0, real=20.0), run(25, truth=20.0, real=20.0)]
    (found,) = series.cut(runs, CALIBRATES, 10)
    assert (found.studies, found.fixed.costs) == (6, 6), "no study has blocks of two runs"


def test_runs_of_other_scenarios_are_not_counted_together() -> None:
    other = run(40, truth=0.0, real=0.0)
    scenarios = [Scenario(name="other")]
    other = replace(other, plan=other.plan.model_copy(update={"scenarios": scenarios}))
    with pytest.raises(ReportError, match="expected the study and scenarios of r"):
        series.cut([run(40, truth=0.0, real=0.0), other], CALIBRATES, 10)


def test_the_published_series_is_what_its_records_show() -> None:
    records = [read(ROOT / "record" / name) for name in RECORDS]
    page = (ROOT / "experiments" / "calibration" / "README.md").read_text()
    calibrates = catalog.load("calibration", "cpu").study.calibrates
    assert calibrates is not None
    names = {
        "ordinary_cpu_us_per_request": "CPU per request, ordinary rounds",
        "cpu_us_per_request": "CPU per request, all rounds",
        "latency_p50_us": "median latency",
        "ordinary_latency_p99_us": "p99 latency, ordinary rounds",
    }
    for each in series.cut(records, calibrates, 8):
        for how, looks in (("once", each.fixed), ("after every duel", each.peeking)):
            wrong = exact_interval(looks.wrong, each.studies)
            assert (
                f"| {names[each.outcome]}, looked at {how} | {each.studies} | {looks.wrong} | "
                f"{100 * wrong.low:.0f} to {100 * wrong.high:.1f} % | {looks.covered} | "
                f"±{looks.half_width_pct:.2f} % |"
            ) in page
