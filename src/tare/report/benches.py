"""The benches of a run: what each made, and what differs between them."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import fmean

import numpy as np

from tare.model.results import BenchEffect, BenchesResult, BenchLevel, BenchSpread, Results
from tare.report.folder import RunFolder
from tare.report.numbers import factor, listed, relative
from tare.report.sentence import in_sentence
from tare.stats.benches import Spread, levels, spread
from tare.stats.blocks import judged
from tare.stats.effect import paired_log_ratios, to_percent
from tare.stats.floats import Floats
from tare.stats.holm import holm
from tare.stats.interval import Interval

_ALPHA = 0.05


def of(folder: RunFolder) -> BenchesResult | None:
    """Return what the benches of a run show, or None if it was made on one machine."""
    blocks = {(trial.bench, trial.block) for trial in folder.trials if trial.bench is not None}
    if not blocks:
        return None
    counted = Counter(bench for bench, _ in blocks if bench is not None)
    return BenchesResult(
        blocks=dict(sorted(counted.items())), spreads=_spreads(folder), levels=_levels(folder)
    )


def lines(results: Results) -> Iterator[str]:
    """Say it in sentences."""
    found = results.benches
    if found is None:
        return
    made = listed([f"{name} {count}" for name, count in found.blocks.items()])
    yield f"Blocks by bench: {made}."
    for each in found.levels:
        if each.p_adjusted < _ALPHA:
            yield (
                f"Bench {each.bench} is not like the others: the baseline's "
                f"{in_sentence(each.title)}{_where(results, each.scenario)} differs there by "
                f"{relative(each.differs_pct, each.ci_pct)}."
            )
    for one in found.spreads:
        title = f"{one.variant}'s {in_sentence(one.title)}{_where(results, one.scenario)}"
        if one.p_adjusted < _ALPHA:
            effects = one.by_bench.items()
            by = listed([f"{name} {relative(e.effect_pct, e.ci_pct)}" for name, e in effects])
            yield f"The effect on {title} depends on the bench: {by}."
        if one.next_pct is not None:
            low, high = (factor(end, one.next_pct) for end in one.next_pct)
            yield (
                f"One more bench like these would show {low} to {high} for {title}, in 19 of 20 "
                "cases."
            )


def _where(results: Results, scenario: str) -> str:
    return f" in {scenario}" if len(results.scenarios) > 1 else ""


def _values(folder: RunFolder, scenario: str, label: str, outcome: str) -> dict[int, float]:
    """Return block → value above 0, of valid trials."""
    return {
        trial.block: value
        for trial in folder.trials
        if (trial.scenario, trial.label, trial.status) == (scenario, label, "valid")
        and (value := trial.outcomes.get(outcome)) is not None
        and value > 0
    }


def _by_bench(folder: RunFolder, of_block: dict[int, float]) -> dict[str, Floats]:
    places = {trial.block: trial.bench for trial in folder.trials}
    found: dict[str, list[float]] = defaultdict(list)
    for block, value in of_block.items():
        if (bench := places[block]) is not None:
            found[bench].append(value)
    return {bench: np.asarray(found[bench]) for bench in sorted(found)}


def _compared(folder: RunFolder) -> Iterator[tuple[str, str]]:
    """Yield the scenarios and outcomes that have a verdict by ratios."""
    for scenario in folder.plan.scenarios:
        for outcome in judged(folder.plan):
            yield scenario.name, outcome


def _spreads(folder: RunFolder) -> list[BenchSpread]:
    plan = folder.plan
    found: list[tuple[str, str, str, Spread]] = []
    for scenario, outcome in _compared(folder):
        for variant in plan.variants[1:]:
            own = _values(folder, scenario, variant, outcome)
            base = _values(folder, scenario, plan.opponent_of(variant), outcome)
            both = sorted(own.keys() & base.keys())
            if not both:
                continue
            ratios = paired_log_ratios([own[at] for at in both], [base[at] for at in both])
            of_block = dict(zip(both, map(float, ratios), strict=True))
            one = spread(_by_bench(folder, of_block))
            if one is not None:
                found.append((scenario, outcome, variant, one))
    adjusted = holm([one.p for *_, one in found])
    return [
        BenchSpread(
            scenario=scenario,
            outcome=outcome,
            title=plan.outcomes[outcome].title,
            variant=variant,
            by_bench={name: _effect(*found) for name, found in one.means.items()},
            deviation_pct=to_percent(one.deviation),
            p_adjusted=p,
            next_pct=one.next_ and _percent(one.next_),
        )
        for (scenario, outcome, variant, one), p in zip(found, adjusted, strict=True)
    ]


def _levels(folder: RunFolder) -> list[BenchLevel]:
    plan = folder.plan
    found = []
    sides = {
        plan.opponent_of(variant): None
        for variant in plan.variants[1:]
        if plan.baseline_of(variant) == plan.baseline
    }
    for scenario, outcome in _compared(folder):
        each: dict[int, list[float]] = defaultdict(list)
        for label in sides:
            for block, value in sorted(_values(folder, scenario, label, outcome).items()):
                each[block].append(float(np.log(value)))
        # A block has the baseline once, or beside each of the others.
        logs = {block: fmean(values) for block, values in sorted(each.items())}
        found += [(scenario, outcome, one) for one in levels(_by_bench(folder, logs))]
    adjusted = holm([one.p for *_, one in found])
    return [
        BenchLevel(
            scenario=scenario,
            outcome=outcome,
            title=plan.outcomes[outcome].title,
            bench=one.bench,
            differs_pct=to_percent(one.log_ratio),
            ci_pct=_percent(one.interval),
            p_adjusted=p,
        )
        for (scenario, outcome, one), p in zip(found, adjusted, strict=True)
    ]


def _effect(log_ratio: float, interval: Interval) -> BenchEffect:
    return BenchEffect(effect_pct=to_percent(log_ratio), ci_pct=_percent(interval))


def _percent(interval: Interval) -> tuple[float, float]:
    return to_percent(interval.low), to_percent(interval.high)
