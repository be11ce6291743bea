"""Pages in a real browser: what they fetch, how wide they are, and whether they can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
import runs

from tare.lab.paths import ROOT
from tare.model.scenario import Scenario
from tare.report import html, results
from tare.report.folder import read

MOST_BYTES = 2_000_000
PHONE, DESK = 390, 1280
RECORDS = sorted(file.parent for file in ROOT.glob("record/*/report.html"))
UNFOLD = "document.querySelectorAll('details').forEach(each => each.open = true)"
WIDTHS = "[document.documentElement.scrollWidth, window.innerWidth]"
CONTRASTS = (Path(__file__).parent / "contrasts.js").read_text()
BROKEN = (Path(__file__).parent / "broken_names.js").read_text()
SMALLEST_TEXT, SMALLEST_MARK = 4.5, 3.0

pytestmark = pytest.mark.skipif(
    chromium.found() is None, reason="there is no Chromium: apt-get install chromium"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    program = chromium.found()
    assert program is not None
    with chromium.browser(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def built(folder: Path, variants: int, scenarios: int) -> Path:
    """The page of a run of so many variants and scenarios."""
    names = [f"variant-number-{number:02}" for number in range(variants)]
    plan = runs.plan(
        baseline=names[0],
        variants=names,
        scenarios=[
            Scenario(name=f"load=level-{number},size=20k", levels={"load": f"level-{number}"})
            for number in range(scenarios)
        ],
        outcomes={"cpu": runs.CPU, "rate": runs.RATE},
        judged=["cpu", "rate"],
        shown=[],
        blocks={"min": 12, "max": 12},
    )
    costs = {name: 0.8 + 0.13 * number for number, name in enumerate(names[1:])}
    done = [
        runs.altered(
            trial,
            started=f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}+00:00",
            roles={"sut": {"cpu_us": 1e6}, "load": {"cpu_us": 4e5}},
            instrument={"outcomes": {"requests": 1e5 / (trial.outcomes["cpu"] or 1)}},
        )
        for number, trial in enumerate(runs.trials(plan, 12, costs))
    ]
    run = read(runs.write(folder / "run", plan, done))
    file = folder / "report.html"
    file.write_text(html.render(run, results.make(run)))
    return file


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("large"), 20, 10)


def each_page(large: Path) -> list[Path]:
    return [*(record / "report.html" for record in RECORDS), large]


def test_a_large_run_has_a_page_of_less_than_two_megabytes(large: Path) -> None:
    size = large.stat().st_size
    assert size < MOST_BYTES
    text = large.read_text()
    assert text.count('<section id="s') == 11 and "variant-number-19" in text


def test_pages_fetch_nothing_and_report_no_error(page: chromium.Page, large: Path) -> None:
    for file in each_page(large):
        page.open(file)
        page.value(UNFOLD)
        assert page.requests == [file.as_uri()], file
        assert page.errors == [], file


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_no_page_scrolls_sideways(page: chromium.Page, large: Path, width: int) -> None:
    for file in each_page(large):
        page.open(file, width)
        for state in ("folded", "unfolded"):
            scrolled, inner = page.value(WIDTHS)
            assert inner == width and scrolled <= width, (file, state)
            page.value(UNFOLD)


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_no_name_is_broken_at_a_hyphen(page: chromium.Page, large: Path, width: int) -> None:
    page.open(large, width)
    page.value(UNFOLD)
    found: dict[str, Any] = page.value(BROKEN)
    assert found["names"] > 500 and found["broken"] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_and_all_marks_stand_out(page: chromium.Page, large: Path, dark: bool) -> None:
    for file in each_page(large):
        page.open(file, dark=dark)
        page.value(UNFOLD)
        found: dict[str, Any] = page.value(CONTRASTS)
        assert found["texts"] > 50 and (found["dark"] is dark), file
        weak = [each for each in found["text"] if each["contrast"] < SMALLEST_TEXT]
        assert weak == [], file
        weak = [each for each in found["marks"] if each["contrast"] < SMALLEST_MARK]
        assert weak == [], file


def test_a_page_can_be_read_and_walked_without_a_mouse(page: chromium.Page, large: Path) -> None:
    for file in each_page(large):
        page.open(file)
        found = page.value(
            """({
              unnamed: [...document.querySelectorAll('figure, nav, [role=region]')]
                .filter(each => !each.getAttribute('aria-label')).length,
              headless: [...document.querySelectorAll('table')]
                .filter(each => !each.querySelector('th[scope]')).length,
              lost: [...document.querySelectorAll('a[href^="#"]')]
                .filter(each => !document.getElementById(each.hash.slice(1))).map(a => a.hash),
              twice: [...document.querySelectorAll('[id]')].map(each => each.id)
                .filter((id, at, all) => all.indexOf(id) !== at),
              unreachable: [...document.querySelectorAll('.scroll, pre')]
                .filter(each => each.tabIndex !== 0).length,
              titles: document.querySelectorAll('h1').length,
              language: document.documentElement.lang,
            })"""
        )
        assert found == {
            "unnamed": 0, "headless": 0, "lost": [], "twice": [], "unreachable": 0, "titles": 1,
            "language": "en",
        }, file  # fmt: skip


def test_paper_gets_whole_rows_and_all_that_is_folded(page: chromium.Page, large: Path) -> None:
    for file in each_page(large):
        page.open(file, print_=True)
        rule = page.value("getComputedStyle(document.querySelector('tbody tr')).breakInside")
        assert rule == "avoid", file
        hidden = page.value(
            """[...document.querySelectorAll('details > :not(summary)')]
                .filter(each => !each.checkVisibility({contentVisibilityAuto: true})).length"""
        )
        assert hidden == 0, file
        assert page.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.pdf().startswith(b"%PDF")
