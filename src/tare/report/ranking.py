"""Rankings: each judged outcome's variants from best to worst, and what is indistinguishable."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tare.model.results import (
    OutcomeResult,
    Results,
    ScenarioResult,
    SlopeResult,
    Verdict,
)
from tare.report.alike import is_open, is_open_change
from tare.report.slopes import ranked as ranked_slopes
from tare.stats.plan_order import CONTROL

DIFFERENT = ("costs", "saves")


@dataclass(frozen=True)
class Standing:
    """A variant's comparison with its baseline: a change in percent, or a difference in the unit
    of a slope.
    """

    label: str
    against: str
    value: float
    interval: tuple[float, float] | None
    verdict: Verdict
    why: str
    more_blocks: int | None


@dataclass(frozen=True)
class Ranking:
    """One judged outcome of a scenario: what was compared, from best to worst."""

    name: str
    title: str
    unit: str
    better: str
    is_slope: bool
    standings: tuple[Standing, ...]
    alike: frozenset[frozenset[str]]
    """Pairs of variants that are equivalent, or whose difference may be none or mere noise."""
    open: frozenset[frozenset[str]]
    """Pairs that may differ, with too few blocks for a verdict."""

    def groups(self, standings: Sequence[Standing]) -> list[list[Standing]]:
        """Return the standings in their order, those together that are all indistinguishable from
        each other.
        """
        found: list[list[Standing]] = []
        for each in standings:
            if found and all(frozenset((each.label, one.label)) in self.alike for one in found[-1]):
                found[-1].append(each)
            else:
                found.append([each])
        return found


def rankings(results: Results, scenario: ScenarioResult) -> list[Ranking]:
    """Return a ranking of each judged outcome of which something was compared, slopes first."""
    found = [
        *(_of_slope(results, slope) for slope in scenario.slopes),
        *_of_outcomes(results, scenario),
    ]
    return [each for each in found if each.standings]


def ordered(results: Results, scenario: ScenarioResult, outcome: str) -> list[str]:
    """Return the labels with a figure of `outcome` from best to worst, the A/A control last.

    The order is that of the effects, from which the medians' may differ by chance.
    """
    known = {
        label: found
        for label, variant in scenario.variants.items()
        if (found := variant.outcomes.get(outcome)) is not None and found.median is not None
    }

    compared = any(found.effect_pct is not None for found in known.values())
    start = known[results.baseline].median if results.baseline in known else None

    def place(label: str) -> float:
        own, against = known[label], results.baseline_of(label)
        if not compared:
            return own.median or 0.0
        if label == results.baseline:
            return 0.0
        if own.effect_pct is not None and own.effect_pct > -100:
            before = place(against) if against in known else 0.0
            return before + math.log1p(own.effect_pct / 100)
        # CPU time without control groups falls when a process ends, even below 0.
        return math.log(max((own.median or 0.0) / (start or 1.0), math.ulp(0.0)))

    sign = 1 if any(found.better == "lower" for found in known.values()) else -1
    own = sorted((label for label in known if label != CONTROL), key=lambda x: sign * place(x))
    return own + [CONTROL] * (CONTROL in known)


def _of_outcomes(results: Results, scenario: ScenarioResult) -> Iterator[Ranking]:
    for name in scenario.noise_floor:
        judged: dict[str, OutcomeResult] = {
            label: found
            for label, variant in scenario.variants.items()
            if label != CONTROL and (found := variant.outcomes.get(name)) and found.judged
        }
        if not judged:
            continue
        one = next(iter(judged.values()))
        yield Ranking(
            name,
            one.title,
            one.unit,
            one.better,
            False,
            tuple(
                Standing(
                    label,
                    results.baseline_of(label),
                    found.effect_pct,
                    found.ci_pct,
                    found.verdict,
                    found.why or "",
                    found.more_blocks,
                )
                for label in ordered(results, scenario, name)
                if (found := judged.get(label))
                and found.effect_pct is not None
                and found.verdict is not None
            ),
            *_unlike(
                [
                    (pair.variant, pair.against, pair.verdict, pair.effect_pct, pair.ci_pct)
                    for pair in scenario.pairs
                    if pair.outcome == name
                ],
                scenario.noise_floor[name].reach_pct,
                is_open_change,
            ),
        )


def _of_slope(results: Results, found: SlopeResult) -> Ranking:
    return Ranking(
        found.outcome,
        found.title,
        found.unit,
        found.better,
        True,
        tuple(
            Standing(
                label,
                results.baseline_of(label),
                own.difference,
                own.difference_ci,
                own.verdict,
                own.why or "",
                None,
            )
            for label in ranked_slopes(found)
            if label != CONTROL
            and (own := found.variants[label]).difference is not None
            and own.verdict is not None
        ),
        *_unlike(
            [
                (pair.variant, pair.against, pair.verdict, pair.difference, pair.ci)
                for pair in found.pairs
            ],
            found.floor,
            is_open,
        ),
    )


def _unlike(
    pairs: Iterable[tuple[str, str, Verdict, float, tuple[float, float] | None]],
    floor: float | None,
    lacks_blocks: Callable[[float, tuple[float, float] | None, float | None], bool],
) -> tuple[frozenset[frozenset[str]], frozenset[frozenset[str]]]:
    """Return the pairs that are alike, and those that are open."""
    alike: set[frozenset[str]] = set()
    open_: set[frozenset[str]] = set()
    for one, other, verdict, value, interval in pairs:
        if verdict not in DIFFERENT:
            lacks = verdict == "unresolved" and lacks_blocks(value, interval, floor)
            (open_ if lacks else alike).add(frozenset((one, other)))
    return frozenset(alike), frozenset(open_)
