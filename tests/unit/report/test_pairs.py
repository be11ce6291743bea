from io import StringIO
from pathlib import Path

import runs
from rich.console import Console

from tare.report import html, results, table
from tare.report.folder import read


def rendered(tmp_path: Path, blocks: int = 10) -> tuple[str, str]:
    plan = runs.plan(variants=["none", "left", "right", "dear"], blocks={"min": 8, "max": blocks})
    done = runs.trials(plan, blocks, {"left": 1.5, "right": 1.5, "dear": 1.8})
    folder = read(runs.write(tmp_path / "run", plan, done))
    made, out = results.make(folder), StringIO()
    table.show(made, Console(file=out, width=200))
    return html.render(folder, made), out.getvalue()


def test_that_two_cannot_be_told_apart_is_said(tmp_path: Path) -> None:
    for text in rendered(tmp_path):
        assert "right against left" in text and "dear against right" in text
        assert "indistinguishable: within ±2 %" in text
        assert "against none" not in text.replace("Effects are relative to none", "")
        assert "Holm's correction covers all pairs" in text.replace("&#39;", "'")


def test_too_few_blocks_say_how_many_are_missing(tmp_path: Path) -> None:
    page, printed = rendered(tmp_path, blocks=5)
    for text in (page, " ".join(printed.split())):
        assert "indistinguishable in this run: 5 blocks give no 95 % interval" in text
        assert "more blocks)" in text
