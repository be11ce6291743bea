"""Experiments' pages begin with the decision."""

import pytest

from tare.lab.paths import ROOT
from tare.lab.project.index import entries

_FIRST_SCREEN = 20
"""Lines within which the decision's table begins."""
# It asks whether differences are found, and offers nothing to choose from.
_CHOICES = [entry for entry in entries() if entry.name != "calibration"]


@pytest.mark.parametrize("name", [entry.name for entry in _CHOICES])
def test_a_decision_table_opens_the_page(name: str) -> None:
    lines = (ROOT / "experiments" / name / "README.md").read_text().splitlines()
    tables = [number for number, line in enumerate(lines) if line.startswith("|")]
    assert tables[0] < _FIRST_SCREEN
    assert lines[tables[0]].startswith("| take | if |"), lines[tables[0]]
    answer = next(line for line in lines[1:] if line)
    assert answer.startswith("**The answer.**"), answer


@pytest.mark.parametrize("name", [entry.name for entry in _CHOICES])
def test_each_row_names_variants_that_there_are(name: str) -> None:
    known = {variant for entry in _CHOICES if entry.name == name for variant in entry.variants}
    lines = (ROOT / "experiments" / name / "README.md").read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        cell = line.split("|")[1]
        named = cell.replace("`", "").replace(",", " ").split()
        assert named and set(named) <= known, line
