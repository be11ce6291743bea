"""Results in the terminal: a section a scenario, a table an outcome, a row a variant."""

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tare.model.results import OutcomeResult, Results, ScenarioResult, SlopeResult
from tare.report import overview, slopes
from tare.report.numbers import NONE, figure, percent
from tare.report.pairs import NOTE, Row, by_outcome
from tare.report.titles import beside, common, label_title, other_baselines, titles
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import two_digits

_MANY_PAIRS = 21
"""More than 7 variants make."""
_STYLES = {"costs": "red", "saves": "green", "equivalent": "cyan", "unresolved": "yellow"}


def show(results: Results, console: Console) -> None:
    """Print all of `results`."""
    head = f"{results.experiment}/{results.study}: {results.question}"
    console.print(Text(head, style="bold"))
    state = "" if results.complete else "  (not finished: tare resume)"
    console.print(f"run {results.run}, seed {results.seed}{state}", highlight=False, markup=False)
    named = titles(results)
    for scenario in results.scenarios:
        console.print()
        console.print(_scenario(results, scenario, named[scenario.name]), highlight=False)
    console.print()
    for line in notes(results):
        console.print(line, highlight=False, markup=False)
    if any(_unresolved(scenario) for scenario in results.scenarios):
        console.print("unresolved: report.html says why, and how many more blocks might help.")


def notes(results: Results) -> list[str]:
    """Return the footnotes that a reader needs for the tables."""
    named = titles(results)
    lines = [
        *filter(None, [common(results)]),
        f"Effects are relative to {results.baseline}, paired within blocks, with 95 % intervals. "
        f"equivalent: the interval lies within ±{results.margin_pct:g} %.",
        *other_baselines(results),
        f"Measuring took {results.measured_share:.0%} of the trials' wall time.",
    ]
    for scenario in results.scenarios:
        found = {name: item.trials_invalid for name, item in scenario.variants.items()}
        if lost := ", ".join(f"{name} {count}" for name, count in found.items() if count):
            lines.append(f"Refused by a gate, and repeated, in {named[scenario.name]}: {lost}.")
    if results.overview:
        lines.append(overview.NOTE)
    if any(scenario.pairs for scenario in results.scenarios):
        lines.append(NOTE)
    if any(scenario.slopes for scenario in results.scenarios):
        lines.append(slopes.NOTE)
    for remark in results.environment.get("remarks", []):
        lines.append(f"Remark: {remark}.")
    for scenario_name, outcome in results.alarms():
        lines.append(
            f"WARNING: in {named[scenario_name]} the A/A control differs from the baseline in "
            f"{outcome}. The machine was not quiet enough, or something is wrong: do not believe "
            "this scenario's verdicts."
        )
    return lines


def _unresolved(scenario: ScenarioResult) -> bool:
    return any(
        outcome.verdict == "unresolved"
        for variant in scenario.variants.values()
        for outcome in variant.outcomes.values()
    )


def _scenario(results: Results, scenario: ScenarioResult, title: str) -> Group:
    parts: list[object] = [Text(title, style="bold underline")]
    if (found := overview.of(results, scenario)) is not None:
        parts.append(Padding(_overview(found), (0, 0, 0, 2)))
    troubles = [
        f"{name}: {variant.status}: {variant.reason}"
        for name, variant in scenario.variants.items()
        if variant.status != "measured"
    ]
    outcomes = {
        name: outcome
        for variant in scenario.variants.values()
        for name, outcome in variant.outcomes.items()
    }
    for name in overview.details(results, scenario):
        parts.append(Padding(_outcome(results, scenario, name, outcomes[name]), (0, 0, 0, 2)))
    if (nameless := overview.nameless(scenario)) is not None:
        parts.append(Text(f"  {nameless}", style="dim"))
    for sloped in scenario.slopes:
        parts.append(Padding(_slopes(results, sloped), (0, 0, 0, 2)))
    for title, rows in by_outcome(results, scenario):
        parts.append(Padding(_pairs(title, rows), (0, 0, 0, 2)))
    parts += [Text(f"  {trouble}", style="red") for trouble in troubles]
    return Group(*parts)  # type: ignore[arg-type]


def _overview(found: overview.Overview) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for head in found.heads:
        table.add_column(head, justify="right")
    for label, cells in found.rows:
        table.add_row(label, *cells)
    return table


def _outcome(
    results: Results, scenario: ScenarioResult, name: str, outcome: OutcomeResult
) -> Table:
    floor = scenario.noise_floor[name]
    reach = "" if floor.reach_pct is None else f", noise floor {two_digits(floor.reach_pct)} %"
    table = _table(f"{outcome.title}, {outcome.unit} ({outcome.better} is better{reach})")
    for label, variant in scenario.variants.items():
        if not variant.outcomes:
            continue
        title = label_title(results, label)
        dim = "dim" if label == CONTROL else ""
        if (found := variant.outcomes.get(name)) is None:
            table.add_row(Text(title, style=dim), Text(NONE, style=dim))
            continue
        verdict = found.verdict or ""
        table.add_row(
            Text(title, style=dim),
            Text(figure(found.median, found.median_ci), style=dim),
            Text(percent(found.effect_pct, found.ci_pct), style=dim),
            Text(verdict + beside(results, label), style=_STYLES.get(verdict, "") or dim),
        )
    return table


def _slopes(results: Results, found: SlopeResult) -> Group:
    table = _table(None)
    for label in slopes.ranked(found):
        own = found.variants[label]
        title = label_title(results, label)
        dim = "dim" if label == CONTROL else ""
        table.add_row(
            Text(title, style=dim),
            Text(figure(own.slope, own.ci), style=dim),
            Text(own.verdict or "", style=_STYLES.get(own.verdict or "", "")),
            Text(slopes.fixed(found, label, results.baseline_of(label)), style=dim),
            Text(slopes.remarks(found, label), style="dim"),
        )
    # As a table's title it would be broken at the table's width.
    return Group(Text(slopes.heading(found)), table)


def _pairs(title: str, rows: list[Row]) -> Table:
    """Return the comparisons of pairs; of many, only those that differ."""
    which = "each pair"
    if len(rows) > _MANY_PAIRS:
        every, rows = len(rows), [row for row in rows if row.verdict in ("costs", "saves")]
        which = f"pairs that differ, {len(rows)} of {every}; the others are in report.html"
    table = _table(f"{title}: {which}")
    for row in rows:
        verdict = Text(row.verdict, style=_STYLES[row.verdict])
        table.add_row(Text(row.title), Text(row.effect), verdict, Text(row.meaning, style="dim"))
    return table


def _table(title: str | None) -> Table:
    return Table(
        title=title and Text(title),
        title_justify="left",
        title_style="",
        box=None,
        padding=(0, 3, 0, 2),
        show_header=False,
    )
