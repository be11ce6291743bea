"""Several generators for one server: one result of all, and the one that lags by its name."""

import json
from pathlib import Path

import pytest
from laboratory import Laboratory
from namespaces import BACKEND, Spread

from tare.model.trial import Trial
from tare.stats.histogram import merge

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]
RUN = ("run", "toy", "--variants", "plain", "--blocks", "1", "--seed", "3", "--generators", "2")
LONG = ("--connections", "5", "--duration", "2")
"""Windows that overlap however late a generator is."""


def together(trial: Trial) -> dict[str, dict[str, float]]:
    """Each generator's outcomes, whose sums are the trial's."""
    whole, several = trial.instrument, trial.instrument["generators"]
    each = {name: own["outcomes"] for name, own in several["each"].items()}
    for name in ("requests", "requests_per_second"):
        parts = [own[name] for own in each.values()]
        assert min(parts) > 0 and sum(parts) == pytest.approx(whole["outcomes"][name])
    totals = [own["total"]["requests"] for own in several["each"].values()]
    assert sum(totals) == whole["total"]["requests"]
    assert several["overlap_s"] > 0 and several["start_spread_s"] >= 0
    return each


def test_generators_of_one_machine_make_one_load(lab: Laboratory) -> None:
    lab.tare(*RUN, *LONG)
    for trial in lab.trials():
        assert trial.status == "valid", "the audit counts the requests of both"
        assert trial.scenario == "connections=5,generators=2"
        assert list(together(trial)) == ["load-1", "load-2"]
        assert {"load-1", "load-2", "sut"} <= trial.roles.keys()
        names = {gate.name for gate in trial.gates}
        assert {"overlap", "generator", "generator-load-1", "generator-load-2"} <= names
        file = lab.run_folder() / "histograms" / f"{trial.id}.json"
        measured = merge([json.loads(file.read_text())["latency"]]).total
        assert measured == trial.instrument["outcomes"]["requests"]
    events = (lab.run_folder() / "events.log").read_text()
    assert events.count('"ready"') == 2 * len(lab.trials())


def test_a_generator_that_fails_is_named(lab: Laboratory) -> None:
    text = lab.tare(*(each.replace("plain", "lame-instrument") for each in RUN), code=1)
    assert "toy/lame-instrument: instrument load-2 ended with exit code 3: no route" in text
    assert all(trial.status == "failed" for trial in lab.trials() if trial.variant != "plain")


def test_a_generator_that_starts_too_late_is_named(lab: Laboratory) -> None:
    text = lab.tare(*(each.replace("plain", "late-instrument") for each in RUN), code=1)
    assert "instrument load-2 opened no window before load-1 had closed its own" in text


def test_a_duel_is_refused_several_generators(lab: Laboratory) -> None:
    said = lab.tare("run", "toy/duel", "--generators", "2", code=2)
    assert "a duel has one generator" in said and "--pairing trials" in said
    assert not list(lab.runs.glob("*"))


def test_a_load_that_cannot_be_divided_is_told(lab: Laboratory) -> None:
    text = lab.tare(*RUN, "--connections", "1", code=1)
    assert "2 generators cannot make its load together: connections: found 1" in text


def test_each_host_of_the_load_has_its_generators(lab: Laboratory, tmp_path: Path) -> None:
    spread = Spread.made(tmp_path)
    backend = f"roles = {list(BACKEND)}"
    text = spread.file.read_text()
    assert backend in text
    spread.file.write_text(text.replace(backend, "roles = ['load']"))
    run = ("run", "toy", "--variants", "plain", "--blocks", "1", "--seed", "3")
    lab.tare(*run, *LONG, "--hosts", str(spread.file))
    for trial in lab.trials():
        assert trial.status == "valid", trial.reason
        assert list(together(trial)) == ["load-1@load", "load-2@backend"]
    hosts = json.loads((lab.run_folder() / "environment.json").read_text())["hosts"]
    assert [hosts[name]["roles"] for name in ("load", "server", "backend")] == [
        ["load"],
        ["sut"],
        ["load"],
    ]
