"""Results in the terminal: the answer, the rankings, and with everything each figure."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from tare.model.results import Results, ScenarioResult
from tare.model.servers import EXPERIMENT as OWN_SERVERS
from tare.report import benches, grids, overview
from tare.report.layout import wrapped
from tare.report.notes import notes
from tare.report.ranking import Ranking, rankings
from tare.report.results import NOT_YET
from tare.report.sentence import distrust
from tare.report.titles import other_baselines, titles

_FEW = 2
"""Variants beside the baseline of which all judged outcomes are shown at once."""
_LEAST_WIDTH = 40


def show(results: Results, console: Console, *, everything: bool = False) -> None:
    """Print the answer and a ranking for each scenario; with `everything` all that was found."""
    width = max(console.width, _LEAST_WIDTH)
    for line in _lines(results, width, everything=everything):
        console.print(line, soft_wrap=True, highlight=False)


def _lines(results: Results, width: int, *, everything: bool) -> Iterator[Text]:
    answer = list(_answer(results, width))
    # Who compares two servers has asked the question just before.
    if results.experiment == OWN_SERVERS:
        yield from (*answer, Text(), *_heading(results, width, style="dim"))
    else:
        yield from (*_heading(results, width, style="bold"), Text(), *answer)
    named = titles(results)
    lost = {each.name: _lost(each, everything=everything) for each in results.scenarios}
    first, *others = lost.values()
    common = [line for line in first if others and all(line in each for each in others)]
    for scenario in results.scenarios:
        yield Text()
        if len(results.scenarios) > 1:
            yield from _prose(named[scenario.name], width, style="bold underline")
        yield from _scenario(results, scenario, width, everything=everything)
        for text, style in lost[scenario.name]:
            if (text, style) not in common:
                yield from _prose(text, width, style=style)
    if common:
        yield from (Text(), *_prose("All scenarios", width, style="bold underline"))
        for text, style in common:
            yield from _prose(text, width, style=style)
    yield Text()
    if everything:
        for note in notes(results):
            yield from _prose(note, width)
    else:
        for line in (*other_baselines(results), *benches.lines(results)):
            yield from _prose(line, width)
        yield from _prose("All outcomes, pairs and notes: tare report --all", width, style="dim")


def _answer(results: Results, width: int) -> Iterator[Text]:
    alarm = distrust(results)
    for sentence in results.answers:
        yield from _prose(sentence, width, style="bold red" if sentence == alarm else "")


def _heading(results: Results, width: int, style: str) -> Iterator[Text]:
    yield from _prose(
        f"{results.experiment}/{results.study}: {results.question}", width, style=style
    )
    state = "" if results.complete else " (not finished: tare resume)"
    yield from _prose(f"run {results.run}, seed {results.seed}{state}", width, style="dim")
    for name, own in results.environment.get("parts", {}).items():
        line = f"{', '.join(own['variants'])} with {name} {own['file']}"
        yield from _prose(line, width, style="dim")


def _scenario(
    results: Results, scenario: ScenarioResult, width: int, *, everything: bool
) -> Iterator[Text]:
    whole = everything or not rankings(results, scenario)
    if whole and (found := overview.of(results, scenario)) is not None:
        for grid in grids.of_overview(found, width):
            yield from grid.lines(width)
            yield Text()
    for title, grid in _tables(results, scenario, everything=everything):
        yield from _prose(title, width)
        yield from grid.lines(width)
    if everything and (nameless := overview.nameless(scenario)) is not None:
        yield from _prose(nameless, width, style="dim")


def _lost(scenario: ScenarioResult, *, everything: bool) -> list[tuple[str, str]]:
    """Return what is said of variants that were not measured, each line with its style."""
    found = []
    for status in ("failed", "invalid", "unavailable"):
        lost = {
            name: variant.reason
            for name, variant in scenario.variants.items()
            if variant.status == status
        }
        if status == "unavailable" and not everything and lost:
            found.append((f"unavailable here: {', '.join(lost)}", "dim"))
            continue
        for name, reason in lost.items():
            # What is still to come was not refused.
            told = reason if reason == NOT_YET else f"{status}: {reason}"
            found.append((f"{name}: {told}", "" if reason == NOT_YET else "red"))
    return found


def _tables(
    results: Results, scenario: ScenarioResult, *, everything: bool
) -> Iterator[grids.Headed]:
    ranked = rankings(results, scenario)
    leading = {each.name for each in ranked[: None if _few(ranked) else 1]}
    for slope in scenario.slopes:
        if everything or slope.outcome in leading:
            yield grids.of_slope(results, slope)
    # Where nothing is judged there is no leading outcome.
    for name in overview.details(results, scenario):
        if everything or name in leading or not ranked:
            yield grids.of_outcome(results, scenario, name)
    yield from grids.of_causes(results, scenario, everything=everything)
    yield from grids.of_tails(results, scenario)
    if everything:
        yield from grids.of_pairs(results, scenario)


def _few(ranked: list[Ranking]) -> bool:
    return len({each.label for one in ranked for each in one.standings}) <= _FEW


def _prose(text: str, width: int, style: str = "") -> Iterator[Text]:
    for line in wrapped(text, width):
        yield Text(line, style)
