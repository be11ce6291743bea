import re
from io import StringIO
from pathlib import Path

import pytest
import runs
from built import case, outcome
from built import results as built
from rich.console import Console

from tare.report import html, results, table
from tare.report.alike import is_open_change
from tare.report.folder import read
from tare.report.matrix import matrices
from tare.report.ranking import rankings


def rendered(tmp_path: Path, blocks: int = 10) -> tuple[str, str]:
    plan = runs.plan(variants=["none", "left", "right", "dear"], blocks={"min": 8, "max": blocks})
    done = runs.trials(plan, blocks, {"left": 1.5, "right": 1.5, "dear": 1.8})
    folder = read(runs.write(tmp_path / "run", plan, done))
    made, out = results.make(folder), StringIO()
    table.show(made, Console(file=out, width=200), everything=True)
    return html.render(folder, made), out.getvalue()


def test_that_two_cannot_be_told_apart_is_said(tmp_path: Path) -> None:
    page, text = rendered(tmp_path)
    assert "right against left" in text and "dear against right" in text
    assert "indistinguishable: within ±2 %" in text
    assert "Holm's correction covers all pairs" in text
    (equal,) = re.findall(r'<td class="equivalent" title="([^"]+)">=</td>', page)
    assert re.search(r" % \[.*\]", equal)
    (dear,) = re.findall(r'<th scope="row">dear</th>(<td class="costs" title=.*)</tr>', page)
    assert dear.count(">+20 %</td>") == 2


def test_too_few_blocks_say_how_many_are_missing(tmp_path: Path) -> None:
    page, printed = rendered(tmp_path, blocks=5)
    assert "5 blocks give no 95 % interval" in printed
    assert "indistinguishable" not in printed, "dear is 20 % dearer than both"
    assert "more blocks)" in printed
    assert page.count('<td class="unresolved" title="') == 3 and "[no interval]" in page


def test_a_pair_that_the_matrix_reads_backwards_has_the_opposite_verdict(tmp_path: Path) -> None:
    plan = runs.plan(variants=["none", "dear", "left"])
    done = runs.trials(plan, 8, {"dear": 1.8, "left": 1.5})
    made = results.make(read(runs.write(tmp_path / "ratios", plan, done)))
    (scenario,) = made.scenarios
    (pair,) = scenario.pairs
    assert (pair.variant, pair.against, pair.verdict) == ("left", "dear", "saves")
    (matrix,) = matrices(made, scenario)
    ((row, (cell,)),) = matrix.rows
    assert cell is not None
    assert (matrix.labels, row, cell.text, cell.verdict) == (["left"], "dear", "+20 %", "costs")


def test_so_has_a_pair_of_slopes(tmp_path: Path) -> None:
    plan = runs.plan(
        variants=["none", "dear", "cheap"],
        outcomes={"ns": runs.NS, "cpu": runs.CPU},
        judged=["ns"],
        awaited=["ns"],
        shown=[],
    )
    done = runs.dosed(plan, 10, {"dear": 0.050, "cheap": 0.010})
    made = results.make(read(runs.write(tmp_path / "slopes", plan, done)))
    (scenario,) = made.scenarios
    (sloped,) = scenario.slopes
    assert [(each.variant, each.verdict) for each in sloped.pairs] == [("cheap", "saves")]
    (matrix,) = matrices(made, scenario)
    ((row, (cell,)),) = matrix.rows
    assert cell is not None
    assert (row, cell.text, cell.verdict) == ("dear", "+40", "costs")


@pytest.mark.parametrize(
    ("change", "interval", "open_"),
    [
        (52.0, (45.0, 60.0), True),
        (48.0, (41.0, 55.0), False),
        (-34.2, (-37.5, -31.0), True),
        (-32.4, (-36.0, -29.0), False),
        (-34.2, None, True),
        (-60.0, (-90.0, 10.0), False),
    ],
)
def test_a_fall_is_as_far_as_the_rise_that_undoes_it(
    change: float, interval: tuple[float, float] | None, open_: bool
) -> None:
    assert is_open_change(change, interval, 50.0) is open_


def test_a_fall_beyond_the_floor_is_not_called_indistinguishable() -> None:
    each = outcome("CPU per request", "costs", 10.0, 9.0, 11.0)
    fallen = ("unresolved", -0.4, -0.1988)  # -0.2994 % is ln 1.003, and the floor is 0.3 %
    found = built(case({"a": {"cpu": each}, "b": {"cpu": each}}, {("b", "a"): fallen}))
    (ranking,) = rankings(found, found.scenarios[0])
    assert ranking.open == {frozenset(("a", "b"))} and not ranking.alike
