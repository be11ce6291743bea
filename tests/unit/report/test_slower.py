"""The difference between the slowest requests of two sides, of built runs whose truth is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import CPU, plan, trials

from tare.model.results import Results, ScenarioResult, TailResult
from tare.model.scenario import Scenario
from tare.model.study import Blocks
from tare.model.tail import TAILS, Part, SideTail, Tail, Tails
from tare.report import html, results, slower
from tare.report.errors import NotARun
from tare.report.folder import RunFolder
from tare.report.grids import of_tails
from tare.report.tails import tails
from tare.stats.plan_order import CONTROL

MS = 1e6


def side(rng: np.random.Generator, causes: dict[tuple[str, str], float], lost: int = 0) -> SideTail:
    times = [ms * MS * rng.uniform(0.9, 1.1) for ms in causes.values()]
    parts = [
        Part.model_validate({"cause": cause, "who": who, "slow_ns": slow, "ordinary_ns": 1.0})
        for (cause, who), slow in zip(causes, times, strict=True)
    ]
    slow = sum(part.slow_ns for part in parts)
    tail = Tail(
        requests=20, of=2000, from_ns=int(slow / 2), slow_ns=slow, ordinary_ns=len(parts),
        parts=parts, lost=lost,
    )  # fmt: skip
    return SideTail(p99_ns=slow / 2, tail=tail)


USUAL = {("own", ""): 1.0, ("run_queue_own", "collector"): 3.0}
SLOWER = {("own", ""): 1.0, ("run_queue_own", "collector"): 8.0, ("disk", ""): 2.0}


def run(
    folder: Path,
    variant: dict[tuple[str, str], float],
    *,
    control: dict[tuple[str, str], float] | None = None,
    blocks: int = 8,
    spoilt: int = 0,
) -> RunFolder:
    made = plan(
        outcomes={"cpu": CPU.model_copy(update={"per": "instrument.requests"})},
        scenarios=[Scenario(name="default", parameters={})],
        pairing="slices",
        blocks=Blocks(min=blocks, max=blocks),
        tail=True,
    )
    known = trials(made, blocks, {})
    rng = np.random.default_rng(7)
    (folder / TAILS).mkdir()
    looked = {"dear": variant} | ({CONTROL: control} if control else {})
    for trial in known:
        if trial.label in looked:
            lost = 1 if trial.block < spoilt else 0
            pair = Tails(
                sides={
                    "baseline": side(rng, USUAL, lost), "variant": side(rng, looked[trial.label])
                }
            )  # fmt: skip
            (folder / TAILS / f"{trial.id}.json").write_text(pair.model_dump_json())
    return RunFolder(folder, made, known, {})


def made_of(folder: RunFolder) -> tuple[Results, ScenarioResult]:
    found = results.make(folder)
    return found, found.scenarios[0]


def only(folder: RunFolder) -> TailResult:
    (found,) = tails(folder, "default", ["dear"])
    return found


def test_the_causes_of_a_longer_tail_are_named_with_their_shares(tmp_path: Path) -> None:
    folder = run(tmp_path, SLOWER)
    tail = only(folder)
    assert tail.windows == 8 and tail.spoilt == 0 and tail.slowest_share == 0.01
    assert tail.difference_ns == pytest.approx(7 * MS, rel=0.1)
    assert sum(part.difference_ns for part in tail.parts) == pytest.approx(tail.difference_ns)
    assert [part.cause for part in slower.culprits(tail)] == ["run_queue_own", "disk"]
    found, scenario = made_of(folder)
    slowest, p99 = slower.sentences(scenario, tail, "none")
    assert slowest.startswith("The slowest 1 % of requests take ")
    assert " ms longer with dear than with none (in 8 windows of each alone, which " in slowest
    assert "%), another thread of the server (collector) had its CPU and for " in slowest
    assert slowest.endswith(" %), the server waited for a disk.")
    assert p99.startswith("The p99 of these windows is ") and "] ms." in p99
    ((title, grid),) = of_tails(found, scenario)
    assert title == "Where the slowest requests of dear spend their time, ms of each"
    assert "the server waited for a disk" in grid.columns[0].cells
    page = html.render(folder, found)
    assert "dear: where the slowest requests spend their time" in page
    assert "the server waited for a disk" in page


def test_a_shorter_tail_says_so(tmp_path: Path) -> None:
    said = slower.of_slowest(only(run(tmp_path, {("own", ""): 1.0})), "none")
    assert " ms less with dear than with none " in said
    assert said.endswith(" ms less, another thread of the server (collector) had its CPU.")


def test_without_a_clear_difference_nothing_is_claimed(tmp_path: Path) -> None:
    tail = only(run(tmp_path, USUAL))
    slowest, p99 = slower.of_slowest(tail, "none"), slower.of_p99(tail, "none")
    assert "show no clear difference between dear and none: " in slowest
    assert "had its CPU" not in slowest
    assert p99.endswith("which is no clear difference.")


def test_many_small_causes_do_not_stand_out(tmp_path: Path) -> None:
    many = USUAL | {("run_queue", f"job-{number}"): 0.1 for number in range(60)}
    said = slower.of_slowest(only(run(tmp_path, many)), "none")
    assert "longer with dear" in said and said.endswith("; no cause stands out.")


def test_a_part_that_is_larger_than_the_whole_has_no_share(tmp_path: Path) -> None:
    said = slower.of_slowest(only(run(tmp_path, {("disk", ""): 12.0})), "none")
    assert "ms more, the server waited for a disk." in said


def test_parts_that_are_together_larger_than_the_whole_have_no_shares(tmp_path: Path) -> None:
    causes = {("own", ""): 1.0, ("disk", ""): 5.0, ("page", ""): 4.0}
    said = slower.of_slowest(only(run(tmp_path, causes)), "none")
    assert " ms more, the server waited for a disk and for " in said
    assert said.endswith(" ms more, the server waited for a page of memory.")


def test_an_unequal_control_is_told(tmp_path: Path) -> None:
    _, scenario = made_of(run(tmp_path, SLOWER, control=SLOWER))
    *_, last = slower.sentences(scenario, scenario.tails[0], "none")
    assert last.startswith("But the slowest requests of none differ from its own, too, by +")
    assert last.endswith("do not rely on this.")


def test_windows_with_lost_events_are_left_out(tmp_path: Path) -> None:
    tail = only(run(tmp_path, SLOWER, spoilt=2))
    assert tail.windows == 6 and tail.spoilt == 2


@pytest.mark.parametrize("less", [{"blocks": 5}, {"spoilt": 3}])
def test_too_few_windows_show_nothing(tmp_path: Path, less: dict[str, Any]) -> None:
    folder = run(tmp_path, SLOWER, **less)
    assert tails(folder, "default", ["dear"]) == []
    assert made_of(folder)[1].tails == []


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    folder = run(tmp_path, SLOWER)
    file = next((tmp_path / TAILS).iterdir())
    file.write_text("{")
    with pytest.raises(NotARun, match=r"\.json is damaged: "):
        tails(folder, "default", ["dear"])
