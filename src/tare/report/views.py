"""The page's view of each scenario: its answer, its rankings, and the charts that explain it."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from tare.model.results import Results, ScenarioResult, SlopeResult
from tare.report import overview
from tare.report.folder import RunFolder
from tare.report.grids import heading
from tare.report.ranking import Ranking, ordered, rankings
from tare.report.sentence import of_outcome, of_scenarios
from tare.report.spent import Spent, spent
from tare.report.titles import titles


@dataclass(frozen=True)
class Drawn:
    """A chart, and what it shows in words."""

    svg: Markup
    words: str


@dataclass(frozen=True)
class Table:
    """One outcome's ranking with its chart."""

    key: str
    title: str
    heading: str
    sentence: str
    labels: list[str]
    """Best first."""
    missing: list[str]
    """Variants that have no figure of it."""
    blocks: str
    """How many counted, `9` or `9 to 12`."""
    compared: bool
    """Whether any variant has an effect against its baseline."""
    slope: SlopeResult | None
    chart: Drawn | None


@dataclass(frozen=True)
class View:
    """One scenario."""

    key: str
    """Its anchor."""
    title: str
    result: ScenarioResult
    answer: list[str]
    """Without what all scenarios share."""
    leading: list[Table]
    """What its answer is about."""
    judged: list[Table]
    """The other outcomes with verdicts."""
    others: list[Table]
    charts: list[tuple[str, Drawn]]
    spent: Spent


def views(folder: RunFolder, results: Results) -> list[View]:
    """Return all scenarios. Charts are drawn only where there are intervals to show."""
    answers, _ = of_scenarios(results)
    return [
        _view(folder, results, scenario, f"s{number}", answers[scenario.name])
        for number, scenario in enumerate(results.scenarios, start=1)
    ]


def _view(
    folder: RunFolder, results: Results, scenario: ScenarioResult, key: str, answer: list[str]
) -> View:
    ranked = rankings(results, scenario)
    tables = [_ranked(results, scenario, each) for each in ranked]
    shown = {each.name for each in ranked}
    others = [
        _plain(results, scenario, name)
        for name in overview.details(results, scenario)
        if name not in shown
    ]
    drawn = any(table.chart for table in tables)
    return View(
        key=key,
        title=titles(results)[scenario.name],
        result=scenario,
        answer=answer,
        leading=tables[:1],
        judged=tables[1:],
        others=others,
        charts=list(_charts(folder, results, scenario, ranked)) if drawn else [],
        spent=spent(folder, scenario.name),
    )


def _ranked(results: Results, scenario: ScenarioResult, ranking: Ranking) -> Table:
    slope = next((each for each in scenario.slopes if each.outcome == ranking.name), None)
    if slope is not None:
        from tare.report.slopes import heading as slope_heading
        from tare.report.slopes import ranked

        head, labels, missing = slope_heading(slope), ranked(slope), []
        blocks = _blocks([each.blocks for each in slope.variants.values()])
    else:
        found = _plain(results, scenario, ranking.name)
        head, labels, missing = found.heading, found.labels, found.missing
        blocks = found.blocks
    return Table(
        ranking.name,
        ranking.title,
        head,
        of_outcome(results, ranking),
        labels,
        missing,
        blocks,
        True,
        slope,
        _forest(results, scenario, ranking, slope),
    )


def _plain(results: Results, scenario: ScenarioResult, name: str) -> Table:
    one = next(
        variant.outcomes[name] for variant in scenario.variants.values() if name in variant.outcomes
    )
    labels = ordered(results, scenario, name)
    missing = [
        label
        for label, variant in scenario.variants.items()
        if variant.outcomes and label not in labels
    ]
    head = heading(scenario, name, one)
    blocks = _blocks([scenario.variants[label].outcomes[name].blocks for label in labels])
    compared = any(
        scenario.variants[label].outcomes[name].effect_pct is not None for label in labels
    )
    return Table(name, one.title, head, "", labels, missing, blocks, compared, None, None)


def _blocks(counts: list[int]) -> str:
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _forest(
    results: Results, scenario: ScenarioResult, ranking: Ranking, slope: SlopeResult | None
) -> Drawn | None:
    if not any(each.interval for each in ranking.standings):
        return None
    from tare.report import drawing  # takes a second to import
    from tare.report.charts.forest import forest, slope_forest

    chart = (
        slope_forest(results, scenario, slope)
        if slope is not None
        else forest(results, scenario, ranking.name)
    )
    words = f"{ranking.title}: effects with intervals; the table has the figures"
    return Drawn(drawing.markup(chart), words) if chart is not None else None


def _charts(
    folder: RunFolder, results: Results, scenario: ScenarioResult, ranked: list[Ranking]
) -> Iterator[tuple[str, Drawn]]:
    from tare.report import drawing
    from tare.report.charts.cpu import cpu
    from tare.report.charts.latency import latency
    from tare.report.charts.load import load
    from tare.report.charts.slopes import dose_response
    from tare.report.charts.trials import trials

    charts = {
        "cpu": cpu(folder, results, scenario),
        "latency": latency(folder, results, scenario),
        "load": load(folder, results, scenario),
        "trials": trials(folder, results, scenario, ranked[0].name) if ranked else None,
        **{
            f"slope-{each.outcome}": dose_response(results, scenario, each)
            for each in scenario.slopes
        },
    }
    words = {
        "cpu": "CPU time per request by who spent it; the table has the figures",
        "latency": "Latency by percentile; the table has the figures",
        "load": "Latency of each window of the searches against its load",
        "trials": "Each trial's value relative to the median of its variant, by the clock",
    }
    for name, chart in charts.items():
        if chart is not None:
            told = words.get(name, "Response against dose, one line a variant")
            yield name, Drawn(drawing.markup(chart), told)
