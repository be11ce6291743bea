from pathlib import Path

import pytest
import runs
from rich.console import Console

from tare.model.scenario import Scenario
from tare.report import html, overview, results, table
from tare.report.folder import read
from tare.report.numbers import short
from tare.report.titles import common, titles

HTTP = {"protocol": "http", "size": "20k"}
SCENARIOS = [
    Scenario(name="protocol=http,size=20k", levels=HTTP),
    Scenario(name="protocol=h2,size=20k", levels=HTTP | {"protocol": "h2"}),
]


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (33148.0, (32000.0, 34000.0), "33 148 ±3 %"),
        (0.0, (0.0, 1.0), "0.0 ±0.5"),
        (12.34, None, "12.3 ±?"),
        (None, None, "–"),
    ],
)
def test_a_short_figure_keeps_its_interval(
    value: float | None, interval: tuple[float, float] | None, text: str
) -> None:
    assert short(value, interval) == text


def test_scenarios_are_called_by_what_tells_them_apart(tmp_path: Path) -> None:
    plan = runs.plan(scenarios=SCENARIOS)
    found = results.make(read(runs.write(tmp_path / "run", plan, runs.trials(plan, 8, {}))))
    assert list(titles(found).values()) == ["protocol=http", "protocol=h2"]
    assert common(found) == "All scenarios have size 20k."
    alone = found.model_copy(update={"scenarios": found.scenarios[:1]})
    assert list(titles(alone).values()) == ["protocol=http,size=20k"]
    assert common(alone) is None


def test_the_overview_has_a_row_a_variant_and_a_column_an_outcome(tmp_path: Path) -> None:
    plan = runs.plan(scenarios=SCENARIOS, overview=["rate", "cpu"])
    folder = read(runs.write(tmp_path / "run", plan, runs.trials(plan, 8, {"dear": 2.0})))
    found = results.make(folder)
    made = overview.of(found, found.scenarios[0])
    assert made is not None
    assert made.heads == ["Rate, 1/s", "CPU, µs"]
    assert [label for label, _ in made.rows] == ["none", "dear"]
    assert all("±" in cell for _, cells in made.rows for cell in cells)
    # What is judged keeps its own table, with effect and verdict.
    assert overview.details(found, found.scenarios[0]) == ["cpu"]
    console = Console(width=200, record=True, file=(tmp_path / "text").open("w"))
    table.show(found, console, everything=True)
    text = console.export_text()
    assert "Rate, 1/s" in text and overview.NOTE in text
    assert '<th scope="col">Rate, 1/s</th>' in html.render(folder, found)


def test_an_experiment_without_one_has_all_its_tables(tmp_path: Path) -> None:
    plan = runs.plan()
    found = results.make(read(runs.write(tmp_path / "run", plan, runs.trials(plan, 8, {}))))
    assert overview.of(found, found.scenarios[0]) is None
    assert overview.details(found, found.scenarios[0]) == ["cpu", "rate"]
