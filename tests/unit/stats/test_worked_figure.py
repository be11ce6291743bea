"""The worked figure of docs/METHODOLOGY.md is what the method makes of its table."""

import re

import pytest

from tare.lab.paths import ROOT
from tare.stats.effect import paired_effect
from tare.stats.floor import noise_floor
from tare.stats.verdict import Comparison, Criteria, Direction, judge_family

PAGE = (ROOT / "docs" / "METHODOLOGY.md").read_text().split("## In one page")[1].split("## The")[0]


def row(name: str) -> list[float]:
    (line,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", PAGE, re.M)
    return [float(cell.strip(" +%")) for cell in line.split("|")]


def test_the_page_says_what_comes_out() -> None:
    baseline, variant, control = row("baseline"), row("variant"), row("A/A control")
    ratios = [100 * (own / base - 1) for own, base in zip(variant, baseline, strict=True)]
    assert ratios == pytest.approx(row("variant / baseline"), abs=0.05)
    effect, floor = paired_effect(variant, baseline), noise_floor(control, baseline)
    low, high = effect.percent_interval or (0.0, 0.0)
    assert f"**+{effect.percent:.1f} %**" in PAGE and f"**[+{low:.1f}, +{high:.1f}]**" in PAGE
    assert f"**{floor.percent:.1f} %**" in PAGE
    assert f"+{floor.effect.percent:.1f} %" in PAGE and f"p = {effect.p:.3f}" in PAGE
    compared = Comparison("variant", "cpu", Direction.LOWER, effect, floor)
    (judgement,) = judge_family([compared], Criteria())
    assert judgement.verdict == "costs" and "**costs**" in PAGE
