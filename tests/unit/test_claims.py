"""The page of claims has every claim that the page about the originals has, and no other."""

import re

import pytest
from test_seeds import EXPERIMENTS, ROOT, rows

PAGE = (ROOT / "docs" / "CLAIMS.md").read_text()


def claims(section: str) -> list[list[str]]:
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [re.split(r" ?(?<!\\)\| ?", line)[1:-1] for line in lines[2:]]


@pytest.mark.parametrize("section", EXPERIMENTS)
def test_every_claim_is_faced_once(section: str) -> None:
    wanted = [cells[0].removeprefix("claim: ") for cells in rows(section) if "claim:" in cells[0]]
    assert [cells[0] for cells in claims(section)] == wanted
    assert all(len(cells) == 3 and all(cells) for cells in claims(section))


def test_records_that_are_named_are_there() -> None:
    named = set(re.findall(r"record/[\w-]+", PAGE))
    assert named and all(any((ROOT / each).glob("results.json*")) for each in named), named


def test_the_count_is_right() -> None:
    assert f"claim {sum(len(claims(section)) for section in EXPERIMENTS)} things" in PAGE
