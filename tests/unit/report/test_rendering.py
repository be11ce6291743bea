import re
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
import runs
from rich.console import Console

from tare.model.trial import Gate, Plan, Trial, side_label
from tare.report import html, results, table
from tare.report.folder import read
from tare.report.notes import notes

HOSTILE = '<script>alert(1)</script>[/red] & "x"'
FIGURE = re.compile(r"^[+-]?[\d. ]+( %)? \[([+-]?[\d. ]+, [+-]?[\d. ]+|no interval)\]$")


class Page(HTMLParser):
    """Tags, attributes and the figures of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str | None] = []
        self.figures: list[str] = []
        self._in_figure = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "action")]
        self._in_figure = tag == "td" and ("class", "number") in attrs

    def handle_data(self, data: str) -> None:
        if self._in_figure and data.strip():
            self.figures.append(data.strip())


def hostile() -> tuple[Plan, list[Trial]]:
    outcome = runs.CPU.model_copy(update={"title": HOSTILE})
    plan = runs.plan(
        title=HOSTILE,
        question=HOSTILE,
        variants=["none", "dear", "gone"],
        outcomes={"cpu": outcome},
    )
    done = [
        runs.altered(trial, status="failed", reason=HOSTILE, outcomes={})
        if trial.label == "gone"
        else trial
        for trial in runs.trials(plan, 8, {"dear": 1.2})
    ]
    return plan, done


def test_one_block_is_in_the_singular(tmp_path: Path) -> None:
    plan = runs.plan(blocks={"min": 1, "max": 1})
    folder = read(runs.write(tmp_path / "one", plan, runs.trials(plan, 1, {"dear": 1.2})))
    assert "; 1 block</caption>" in html.render(folder, results.make(folder))
    plan = runs.plan(blocks={"min": 5, "max": 5})
    folder = read(runs.write(tmp_path / "five", plan, runs.trials(plan, 5, {"dear": 1.2})))
    page = html.render(folder, results.make(folder))
    assert "; 5 blocks</caption>" in page and "(about 1 more block)" in page


def rendered(tmp_path: Path, environment: str | None = None) -> tuple[str, str]:
    """The page and the table of a run with hostile names."""
    plan, done = hostile()
    folder = read(runs.write(tmp_path / "run", plan, done, environment))
    found = results.make(folder)
    console = Console(file=StringIO(), width=200)
    table.show(found, console)
    assert isinstance(console.file, StringIO)
    return html.render(folder, found), console.file.getvalue()


def test_hostile_names_are_shown_as_they_are(tmp_path: Path) -> None:
    page, text = rendered(tmp_path)
    assert "<script" not in page and "&lt;script&gt;alert(1)" in page
    assert text.count(HOSTILE) >= 3


def test_the_page_is_whole_by_itself(tmp_path: Path) -> None:
    page = Page(rendered(tmp_path)[0])
    assert not page.tags & {"script", "link", "iframe", "img", "object", "embed"}
    assert page.links and all((link or "").startswith("#") for link in page.links)
    assert "url(" not in rendered(tmp_path / "again")[0]


def test_every_figure_carries_its_interval(tmp_path: Path) -> None:
    page, text = rendered(tmp_path)
    figures = Page(page).figures
    measured = [item for item in figures if item != "–"]
    assert len(measured) >= 5
    assert [item for item in measured if not FIGURE.match(item)] == []
    rows = [line for line in text.splitlines() if re.match(r" +(none|dear)", line)]
    assert len(rows) == 3 and all("[" in row for row in rows)


def test_a_failed_variant_is_shown_with_its_reason(tmp_path: Path) -> None:
    page, text = rendered(tmp_path)
    assert "<b>gone</b>: failed: &lt;script" in page
    assert f"gone: failed: {HOSTILE}" in text


def test_where_there_is_no_such_figure_a_dash_stands(tmp_path: Path) -> None:
    tail = runs.RATE.model_copy(update={"value": "instrument.latency_p999_us"})
    plan = runs.plan(outcomes={"cpu": runs.CPU, "tail": tail})
    done = [
        runs.altered(
            trial,
            outcomes={"cpu": None if trial.variant == "none" else 5.0, "tail": None},
            roles={} if trial.variant == "none" else {"sut": {"cpu_us": 5.0}},
        )
        for trial in runs.trials(plan, 8, {})
    ]
    folder = read(runs.write(tmp_path / "run", plan, done))
    found = results.make(folder)
    console = Console(file=StringIO(), width=200)
    table.show(found, console, everything=True)
    assert isinstance(console.file, StringIO)
    cpu, _, tails = console.file.getvalue().partition("Not shown: no variant reports it")
    assert re.search(r"^ +none +– *$", cpu, re.M) and re.search(r"^ +dear +5", cpu, re.M)
    assert re.search(r"^ +none \(A/A control\) +– *$", cpu, re.M)
    assert tails.startswith(", or too few requests: Rate.")
    page = html.render(folder, found)
    assert '<th scope="row">none</th><td class="number">–</td>' in page
    assert "<caption>Rate, 1/s" not in page and "too few requests: Rate." in page


@pytest.mark.parametrize("environment", [None, "{}", '{"files": {"dear default": {"c": "<b>"}}}'])
def test_a_run_that_knows_little_of_its_machine_is_shown(
    tmp_path: Path, environment: str | None
) -> None:
    page, _ = rendered(tmp_path, environment)
    assert (">&lt;b&gt;</pre>" in page) == ("files" in (environment or ""))


def test_what_levels_are_for_a_variant_is_named(tmp_path: Path) -> None:
    differences = '{"dear": {"profile": {"a <log>": {"tuned": "off", "bare": "on"}}}}'
    page, _ = rendered(tmp_path, f'{{"differences": {differences}}}')
    assert "<h3>What differs by profile: dear</h3>" in page
    assert '<th scope="col">tuned</th><th scope="col">bare</th></tr>' in page
    assert '<th scope="row">a &lt;log&gt;</th><td>off</td><td>on</td></tr>' in page


def test_a_baseline_that_differs_from_itself_is_warned_of(tmp_path: Path) -> None:
    plan = runs.plan()
    done = runs.trials(plan, 8, {"control": 1.3})
    folder = read(runs.write(tmp_path / "run", plan, done))
    found = results.make(folder)
    (warning,) = found.answers
    assert warning.startswith("Do not believe this run: none differs from itself in CPU")
    page = html.render(folder, found)
    assert f"<strong>{warning}</strong>" in page and page.count("costs</span>") > 0
    assert "against none, " not in page.partition("</header>")[0], "no verdict above the warning"


def test_trials_that_did_not_count_are_told_of(tmp_path: Path) -> None:
    plan = runs.plan()
    done = runs.trials(plan, 8, {})
    extra = [runs.altered(done[0], status="invalid", reason="steal"), done[0]]
    found = results.make(read(runs.write(tmp_path / "run", plan, [*extra, *done[1:]])))
    line = f"Trials that did not count, by no failure of their own: {done[0].label} 1."
    assert line in notes(found), "a gate refused it, or the machine was at fault"


def test_a_refused_duel_is_one_trial(tmp_path: Path) -> None:
    plan = runs.plan(pairing="slices")
    gate = Gate(name="slices", kind="machine", ok=False, found="1 %", wanted="at least 50 %")
    done = [
        trial.model_copy(update={"id": f"{trial.id}{end}", "label": label})
        for trial in runs.trials(plan, 8, {"dear": 2.0})
        for end, label in (("-base", side_label("none", trial.label)), ("", trial.label))
    ]
    lost = [
        trial.model_copy(
            update={"id": f"{trial.id}-a1", "status": "invalid", "reason": "r", "gates": [gate]}
        )
        for trial in done[:2]
    ]
    folder = read(runs.write(tmp_path / "run", plan, [*lost, *done]))
    found = results.make(folder)
    page = html.render(folder, found)
    assert "Trials that did not count: 1 of 17<" in page
    assert "Gates: 1 refusals<" in page or "Gates: 1 refusal<" in page
    line = "Trials that did not count, by no failure of their own: none (A/A control) 1."
    assert line in notes(found)
    variants = found.scenarios[0].variants
    assert {name: each.trials_valid for name, each in variants.items()} == {
        "none": 0, "dear": 8, "control": 8,
    }  # fmt: skip


def test_the_page_says_that_running_servers_were_started_once(tmp_path: Path) -> None:
    for running in (True, False):
        plan = runs.plan(pairing="slices", running=running)
        folder = read(runs.write(tmp_path / str(running), plan, runs.trials(plan, 8, {})))
        found = results.make(folder)
        told = "Each server was started once, before this run"
        assert (told in html.render(folder, found)) == running
        assert any(told in words for words in found.answers) == running


def test_one_block_has_no_interval_and_says_so(tmp_path: Path) -> None:
    plan = runs.plan(blocks={"min": 1, "max": 1})
    folder = read(runs.write(tmp_path / "run", plan, runs.trials(plan, 1, {"dear": 2.0})))
    found = results.make(folder)
    assert found.complete
    assert re.search(r"\+(99|100)\.\d % |2\.0\d times ", html.render(folder, found))
    assert "[no interval]" in html.render(folder, found)


def test_charts_are_drawn_where_there_are_intervals(tmp_path: Path) -> None:
    for blocks, drawn in ((8, 2), (2, 0)):
        plan = runs.plan(blocks={"min": blocks, "max": blocks})
        done = runs.trials(plan, blocks, {"dear": 1.2})
        folder = read(runs.write(tmp_path / str(blocks), plan, done))
        page = html.render(folder, results.make(folder))
        assert page.count("<svg ") == drawn, "one judged outcome, one of latencies"


def test_a_variant_of_another_baseline_is_named_with_it(tmp_path: Path) -> None:
    plan = runs.plan(variants=["none", "old", "script"], baselines={"script": "old"})
    done = runs.trials(plan, 9, {"old": 1.2, "script": 1.5})
    folder = read(runs.write(tmp_path / "run", plan, done))
    found = results.make(folder)
    console = Console(file=StringIO(), width=200)
    table.show(found, console)
    assert isinstance(console.file, StringIO)
    text, page = console.file.getvalue(), html.render(folder, found)
    said = "Compared with old instead, the same server without them: script."
    assert said in page
    assert re.search(r"script .* costs +against old", text) and "costs</span> against old" in page
