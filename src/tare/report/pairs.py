"""Each pair of variants in words: what differs, and what is indistinguishable."""

from collections.abc import Iterator
from dataclasses import dataclass

from tare.model.results import PairResult, Results, ScenarioResult
from tare.report.alike import is_open_change
from tare.report.numbers import relative
from tare.stats.rounding import counted

NOTE = (
    "Pairs are compared within blocks, as a variant is with its baseline, and by the same noise "
    "floor. Holm's correction covers all pairs and judged outcomes of a scenario."
)


@dataclass(frozen=True)
class Row:
    """One line of the table of pairs."""

    title: str
    effect: str
    verdict: str
    meaning: str


def by_outcome(results: Results, scenario: ScenarioResult) -> Iterator[tuple[str, list[Row]]]:
    """Title of each judged outcome, and its pairs."""
    titles = {
        name: outcome.title
        for variant in scenario.variants.values()
        for name, outcome in variant.outcomes.items()
    }
    for name in dict.fromkeys(pair.outcome for pair in scenario.pairs):
        own = [pair for pair in scenario.pairs if pair.outcome == name]
        yield (
            titles[name],
            [_row(results, pair, scenario.noise_floor[name].reach_pct) for pair in own],
        )


def _row(results: Results, pair: PairResult, floor: float | None) -> Row:
    open_ = is_open_change(pair.effect_pct, pair.ci_pct, floor)
    meaning = {
        "equivalent": f"indistinguishable: within ±{results.margin_pct:g} %",
        "unresolved": pair.why if open_ else f"indistinguishable in this run: {pair.why}",
    }.get(pair.verdict, pair.why)
    if pair.verdict == "unresolved" and pair.more_blocks:
        meaning += f" (about {counted(pair.more_blocks, 'more block')})"
    effect = relative(pair.effect_pct, pair.ci_pct)
    return Row(f"{pair.variant} against {pair.against}", effect, pair.verdict, meaning)
