"""The terminal's tables at any width: every record, and built cases with long names."""

import re
from io import StringIO
from pathlib import Path

import pytest
import runs
from built import case, outcome
from built import results as case_results
from click.testing import CliRunner
from rich.console import Console

from tare.cli import compare
from tare.cli.main import tare
from tare.lab.paths import ROOT
from tare.model.results import Results
from tare.report import results, table
from tare.report.folder import read
from tare.report.layout import Column, Grid, shortened, wrapped

RECORDS = sorted(file.parent for file in ROOT.glob("record/*/trials.jsonl.zst"))
WIDTHS = (60, 80, 120)
ENDLESS = 10_000


def printed(found: Results, width: int, *, everything: bool, colours: bool = False) -> str:
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=colours,
        color_system="standard" if colours else None,
    )
    table.show(found, console, everything=everything)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def words(text: str) -> set[str]:
    """All that stands between blanks, but how far a shortened figure reaches."""
    return {word for word in text.split() if not word.startswith("±")}


@pytest.mark.parametrize("everything", [False, True], ids=["answer", "all"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("record", RECORDS, ids=lambda folder: str(folder.name))
def test_no_cell_of_a_record_is_broken(record: Path, width: int, everything: bool) -> None:
    found = Results.model_validate_json((record / "results.json").read_text())
    text, wide = (printed(found, each, everything=everything) for each in (width, ENDLESS))
    assert [line for line in text.splitlines() if len(line) > width] == []
    assert words(text) <= words(wide), "a word is a whole number, name or word everywhere"
    for scenario in found.scenarios:
        for label, variant in scenario.variants.items():
            if variant.outcomes and label != "control":
                assert label in text, "no name is lost"
    unbalanced = [line for line in text.splitlines() if line.count("[") != line.count("]")]
    assert unbalanced == [], "an interval stands on one line"
    assert not re.search(r"\d\n *\d{3}\b", text), "so does a number with its thousands"


def test_a_terminal_has_colours_and_a_pipe_has_none(tmp_path: Path) -> None:
    plan = runs.plan()
    folder = read(runs.write(tmp_path / "run", plan, runs.trials(plan, 9, {"dear": 1.2})))
    found = results.make(folder)
    assert "\x1b[31mcosts" in printed(found, 80, everything=False, colours=True)
    assert "\x1b" not in printed(found, 80, everything=True)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_of_runs_keeps_within_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "console", lambda: Console(width=width))
    record = str(ROOT / "record" / "sandbox-calls")
    done = CliRunner().invoke(tare, ["compare", record, record])
    assert done.exit_code == 0 and "gvisor" in done.output
    lines = done.output.splitlines()
    assert [line for line in lines if len(line) > width and " " in line] == []
    assert [line for line in lines if line.count("[") != line.count("]")] == []


GRID = Grid(
    [
        Column(["apple", "a-very-long-name-of-a-variant"]),
        Column(
            ["1 234.5 [1 200.0, 1 300.0]", "2.0 [1.0, 3.0]"], shorter=["1 234.5 ±4 %", "2.0 ±9 %"]
        ),
        Column(["costs", "unresolved"]),
        Column(["first remark", "second remark"], drop=1),
    ]
)  # fmt: skip


def lines(width: int) -> list[str]:
    return [line.plain for line in GRID.lines(width)]


def test_columns_are_dropped_then_shortened_then_each_row_stands_alone() -> None:
    whole, dropped, short, alone = (lines(width) for width in (100, 75, 60, 40))
    assert "first remark" in whole[0] and "[1 200.0, 1 300.0]" in whole[0]
    assert "remark" not in dropped[0] and "[1 200.0, 1 300.0]" in dropped[0]
    assert "1 234.5 ±4 %" in short[0] and "[" not in short[0] and "costs" in short[0]
    assert alone[0] == "  apple" and alone[1].strip() == "1 234.5 [1 200.0, 1 300.0]  costs"
    for width, made in ((100, whole), (75, dropped), (60, short), (40, alone)):
        assert max(map(len, made)) <= width


def test_a_name_that_is_too_long_loses_its_middle() -> None:
    assert shortened("a-very-long-name-of-a-variant", 11) == "a-ver…riant"
    assert shortened("short", 11) == "short"


def test_no_line_of_a_sentence_ends_within_a_figure() -> None:
    text = (
        "b is 12 345 times [11 000, 13 000] as high and 2.9 to 3.1 % more, 40 min of traefik-fast"
    )
    for width in range(20, 90):
        for line in wrapped(text, width):
            assert "\u00a0" not in line
            assert not re.search(r"(\d|\[[^\]]*|to|-)$", line) or line.endswith(text[-12:]), line


def test_the_answer_about_one_s_own_servers_stands_first(tmp_path: Path) -> None:
    plan = runs.plan()
    made = results.make(read(runs.write(tmp_path / "run", plan, runs.trials(plan, 9, {}))))
    lines = printed(made, 80, everything=False).splitlines()
    assert lines[0].startswith(f"{made.experiment}/{made.study}: ")
    own = made.model_copy(update={"experiment": "servers"})
    lines = printed(own, 80, everything=False).splitlines()
    assert lines[0].startswith("dear against none: ")
    assert f"run {own.run}, seed {own.seed}" in lines


def test_what_is_still_to_be_measured_is_not_called_invalid(tmp_path: Path) -> None:
    found = results.make(read(runs.write(tmp_path / "run", runs.plan(), [])))
    told = printed(found, 80, everything=False)
    assert "Nothing was measured yet." in told and "tables" not in told
    assert "\ndear: not measured yet\n" in told and "invalid" not in told


def test_a_reason_that_all_scenarios_share_is_said_once() -> None:
    own = {"cpu": outcome("CPU", "costs", 9.0, 8.0, 10.0)}
    cases = [case({"new": own}, name=name) for name in ("one", "two")]
    for each in cases:
        lost = each["variants"]["new"] | {"outcomes": {}}
        each["variants"]["gone"] = lost | {"status": "unavailable", "reason": "no such device"}
        each["variants"]["bad"] = lost | {"status": "failed", "reason": each["name"]}
    found = case_results(*cases)
    lines = printed(found, 80, everything=True).splitlines()
    assert lines.count("gone: unavailable: no such device") == 1
    assert lines.index("All scenarios") < lines.index("gone: unavailable: no such device")
    assert {"bad: failed: one", "bad: failed: two"} < set(lines)
    short = printed(found, 80, everything=False)
    assert short.count("unavailable here: gone") == 1
