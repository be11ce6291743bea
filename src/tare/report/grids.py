"""The tables of one scenario as grids for the terminal, each with its heading."""

from collections.abc import Iterator

from tare.model.results import OutcomeResult, Results, ScenarioResult, SlopeResult
from tare.report import overview, pairs, slopes, slower
from tare.report.layout import Column, Grid
from tare.report.numbers import NONE, figure, relative, short, signed
from tare.report.ranking import DIFFERENT, ordered
from tare.report.titles import beside, label_title, unit_title
from tare.report.why import changed, seen_in
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import reach_text, two_digits

STYLES = {"costs": "red", "saves": "green", "equivalent": "cyan", "unresolved": "yellow"}
_MANY_PAIRS = 21
"""More than 7 variants make."""
_MANY_FUNCTIONS = 12
"""More fill the screen, and are shown with --all."""

Headed = tuple[str, Grid]


def of_outcome(results: Results, scenario: ScenarioResult, name: str) -> Headed:
    """Return one outcome's ranking: medians, effects and verdicts, best first."""
    labels = ordered(results, scenario, name)
    found = [scenario.variants[label].outcomes[name] for label in labels]
    missing = [
        label
        for label, variant in scenario.variants.items()
        if variant.outcomes and label not in labels
    ]
    names = [label_title(results, label) for label in [*labels, *missing]]
    blank = [""] * len(missing)
    verdicts = [each.verdict or "" for each in found]
    columns = [
        Column(names),
        Column(
            [*(figure(each.median, each.median_ci) for each in found), *([NONE] * len(missing))],
            shorter=[*(short(each.median, each.median_ci) for each in found), *blank],
        ),
        Column([*(relative(each.effect_pct, each.ci_pct) for each in found), *blank]),
    ]
    if any(verdicts):
        styles = [STYLES.get(verdict, "") for verdict in verdicts]
        columns.append(Column([*verdicts, *blank], styles=[*styles, *blank]))
        against = [beside(results, label).strip() if label != CONTROL else "" for label in labels]
        if any(against):
            columns.append(Column([*against, *blank], drop=1))
    one = found[0] if found else _any(scenario, name)
    return heading(scenario, name, one), Grid(columns, _dim([*labels, *missing]))


def heading(scenario: ScenarioResult, name: str, outcome: OutcomeResult) -> str:
    """Return an outcome's title, unit, better direction and noise floor."""
    floor = scenario.noise_floor[name].reach_pct
    reach = "" if floor is None else f", noise floor {reach_text(floor)}"
    return f"{unit_title(outcome.title, outcome.unit)} ({outcome.better} is better{reach})"


def of_slope(results: Results, found: SlopeResult) -> Headed:
    """Return the slopes, best first."""
    labels = slopes.ranked(found)
    own = [found.variants[label] for label in labels]
    verdicts = [each.verdict or "" for each in own]
    return slopes.heading(found), Grid(
        [
            Column([label_title(results, label) for label in labels]),
            Column([figure(each.slope, each.ci) for each in own]),
            Column(verdicts, styles=[STYLES.get(verdict, "") for verdict in verdicts]),
            Column(
                [slopes.fixed(found, label, results.baseline_of(label)) for label in labels],
                drop=1,
            ),
            Column([slopes.remarks(found, label) for label in labels], drop=2),
        ],
        _dim(labels),
    )


def of_overview(found: overview.Overview, width: int) -> list[Grid]:
    """Return the outcomes side by side, in as many tables as the width takes."""
    names = Column([label for label, _ in found.rows])
    columns = [
        Column([cells[number] for _, cells in found.rows], head, right=True)
        for number, head in enumerate(found.heads)
    ]
    grids: list[list[Column]] = []
    for column in columns:
        if grids and sum(each.width + 2 for each in [names, *grids[-1], column]) <= width:
            grids[-1].append(column)
        else:
            grids.append([column])
    return [Grid([names, *each]) for each in grids]


def of_pairs(results: Results, scenario: ScenarioResult) -> Iterator[Headed]:
    """Yield the comparisons of pairs; of many, only those that differ."""
    for title, rows in pairs.by_outcome(results, scenario):
        which, shown = "each pair", rows
        if len(rows) > _MANY_PAIRS:
            shown = [row for row in rows if row.verdict in DIFFERENT]
            which = f"pairs that differ, {len(shown)} of {len(rows)}; all are in report.html"
        yield (
            f"{title}: {which}",
            Grid(
                [
                    Column([row.title for row in shown]),
                    Column([row.effect for row in shown]),
                    Column(
                        [row.verdict for row in shown],
                        styles=[STYLES[row.verdict] for row in shown],
                    ),
                    Column([row.meaning for row in shown], drop=1),
                ]
            ),
        )


def of_causes(results: Results, scenario: ScenarioResult, *, everything: bool) -> Iterator[Headed]:
    """Yield what differs clearly between each variant's processes and its baseline's."""
    for cause in scenario.causes:
        against = results.baseline_of(cause.label)
        clear = changed(cause)
        functions = clear if everything else clear[:_MANY_FUNCTIONS]
        more = "" if len(functions) == len(clear) else f", the {len(functions)} largest"
        often = [each for each in cause.counts if each.clear]
        if cause.label == CONTROL:
            continue
        if functions:
            heads = [against, cause.label]
            yield (
                f"Functions of {cause.label} that changed{more}, ns of CPU time per request "
                f"({seen_in(cause, results.pairing)}, {100 * cause.named_share:.0f} % of samples "
                "named)",
                Grid(
                    [
                        Column([each.name for each in functions]),
                        Column([each.module for each in functions], drop=1),
                        Column(["alone" if each.own else "with calls" for each in functions]),
                        *_both(heads, [(each.baseline_ns, each.variant_ns) for each in functions]),
                        Column([signed(each.difference_ns, each.ci_ns) for each in functions]),
                    ]
                ),
            )
        if often:
            yield (
                f"What {cause.label} does more or less often, per request",
                Grid(
                    [
                        Column([each.name for each in often]),
                        *_both(
                            [against, cause.label],
                            [(each.baseline, each.variant) for each in often],
                        ),
                        Column([signed(each.difference, each.ci) for each in often]),
                    ]
                ),
            )


def of_tails(results: Results, scenario: ScenarioResult) -> Iterator[Headed]:
    """Yield how the slowest requests of both sides of each variant's duels spent their time."""
    for tail in scenario.tails:
        if tail.label == CONTROL or not tail.parts:
            continue
        found = slower.table(tail)
        spent, baseline, variant, difference = zip(*found.rows, strict=True)
        yield (
            f"Where the slowest requests of {tail.label} spend their time, {found.unit} of each",
            Grid(
                [
                    Column(spent),
                    Column(baseline, results.baseline_of(tail.label), right=True, drop=2),
                    Column(variant, tail.label, right=True, drop=2),
                    Column(difference),
                ],
                ["" if part.clear else "dim" for part in tail.parts],
            ),
        )


def _both(heads: list[str], values: list[tuple[float, float]]) -> list[Column]:
    return [
        Column([two_digits(value[side]) for value in values], heads[side], right=True, drop=2)
        for side in (0, 1)
    ]


def _any(scenario: ScenarioResult, name: str) -> OutcomeResult:
    return next(
        variant.outcomes[name] for variant in scenario.variants.values() if name in variant.outcomes
    )


def _dim(labels: list[str]) -> list[str]:
    return ["dim" if label == CONTROL else "" for label in labels]
