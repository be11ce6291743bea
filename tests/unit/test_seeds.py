"""The page about the originals: its counts are those of its lines, and what works has a command."""

import re
from collections import Counter

import pytest

from tare.lab.paths import ROOT

PAGE = (ROOT / "docs" / "SEEDS.md").read_text()
STATES = ("works", "differs", "cannot", "not yet")
EXPERIMENTS = ("filters", "echo", "proxies", "cache", "sandbox")


def rows(section: str) -> list[list[str]]:
    """Return the cells of a section's lines, without the two that head its table."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    found = [re.split(r" ?(?<!\\)\| ?", line)[1:-1] for line in text.splitlines() if "|" in line]
    return found[2:]


@pytest.mark.parametrize("section", EXPERIMENTS)
def test_a_line_has_a_promise_a_state_and_a_reason(section: str) -> None:
    for cells in rows(section):
        assert len(cells) == 3, cells
        promise, state, reason = cells
        assert promise and state in STATES and reason, cells
        assert state != "works" or "`./tare " in reason, cells
    promises = [promise for promise, _, _ in rows(section)]
    assert len(promises) == len(set(promises))


def numbers(*sections: str) -> str:
    """Return the cells that count the lines of sections."""
    counted = Counter(state for section in sections for _, state, _ in rows(section))
    return "".join(f" {each} |" for each in (counted.total(), *(counted[s] for s in STATES)))


@pytest.mark.parametrize("section", EXPERIMENTS)
def test_the_page_begins_with_its_counts(section: str) -> None:
    assert f"| [{section}](#{section}) |{numbers(section)}\n" in PAGE, numbers(section)


def test_the_counts_add_up() -> None:
    assert f"| all |{numbers(*EXPERIMENTS)}\n" in PAGE, numbers(*EXPERIMENTS)
