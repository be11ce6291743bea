"""Each pair of variants as a matrix: a row against a column."""

from collections.abc import Iterator
from dataclasses import dataclass

from tare.model.results import Results, ScenarioResult, SlopeResult
from tare.report.numbers import factor, figure, relative
from tare.report.ranking import DIFFERENT, ordered
from tare.report.slopes import ranked
from tare.stats.rounding import two_digits

_SIGNS = {"equivalent": "=", "unresolved": "?"}
_MIRRORED = {"costs": "saves", "saves": "costs"}
"""The verdict of a pair that is read backwards, where that is another one."""


@dataclass(frozen=True)
class Cell:
    """One comparison of a row with a column: in a few characters, its verdict, and in full."""

    text: str
    verdict: str
    full: str


@dataclass(frozen=True)
class Matrix:
    """One outcome's pairs; each row has as many cells as there are labels before it."""

    title: str
    labels: list[str]
    rows: list[tuple[str, list[Cell | None]]]


def matrices(results: Results, scenario: ScenarioResult) -> Iterator[Matrix]:
    """Yield a matrix for each slope and judged outcome that has pairs, in ranked order."""
    for slope in scenario.slopes:
        if slope.pairs:
            yield _of_slope(slope)
    for name in dict.fromkeys(pair.outcome for pair in scenario.pairs):
        cells: dict[tuple[str, str], Cell] = {}
        for pair in scenario.pairs:
            if pair.outcome != name:
                continue
            low, high = pair.ci_pct or (pair.effect_pct, pair.effect_pct)
            for row, column, percent, ends, verdict in (
                (pair.variant, pair.against, pair.effect_pct, (low, high), pair.verdict),
                (
                    pair.against,
                    pair.variant,
                    _inverse(pair.effect_pct),
                    (_inverse(high), _inverse(low)),
                    _mirrored(pair.verdict),
                ),
            ):
                shown_ends = ends if pair.ci_pct else None
                shown = relative(percent, shown_ends)
                different = verdict in DIFFERENT
                text = factor(percent, shown_ends) if different else _SIGNS[verdict]
                cells[row, column] = Cell(text, verdict, shown)
        title = next(
            variant.outcomes[name].title
            for variant in scenario.variants.values()
            if name in variant.outcomes
        )
        yield _matrix(title, ordered(results, scenario, name), cells)


def _of_slope(found: SlopeResult) -> Matrix:
    cells: dict[tuple[str, str], Cell] = {}
    for pair in found.pairs:
        low, high = pair.ci or (pair.difference, pair.difference)
        for row, column, value, ends, verdict in (
            (pair.variant, pair.against, pair.difference, (low, high), pair.verdict),
            (pair.against, pair.variant, -pair.difference, (-high, -low), _mirrored(pair.verdict)),
        ):
            told = f"{'+' if value > 0 else ''}{two_digits(value)}"
            text = told if verdict in DIFFERENT else _SIGNS[verdict]
            shown = figure(value, ends if pair.ci else None)
            cells[row, column] = Cell(text, verdict, f"{shown} {found.unit}")
    return _matrix(f"{found.title}, {found.unit}", ranked(found), cells)


def _matrix(title: str, order: list[str], cells: dict[tuple[str, str], Cell]) -> Matrix:
    labels = [label for label in order if any(label in pair for pair in cells)]
    rows = [
        (row, [cells.get((row, column)) for column in labels[:place]])
        for place, row in enumerate(labels)
        if place
    ]
    return Matrix(title, labels[:-1], rows)


def _mirrored(verdict: str) -> str:
    return _MIRRORED.get(verdict, verdict)


def _inverse(percent: float) -> float:
    return 100 * (1 / (1 + percent / 100) - 1)
