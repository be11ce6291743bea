"""Long runs of the study with a known difference, cut into many short studies: how often are these
right? Every block has fresh processes, so that consecutive blocks are a study of their own.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from tare.model.scenario import Scenario
from tare.model.series import Looks, Series
from tare.model.study import Calibrates
from tare.model.trial import Plan, Trial
from tare.report.errors import ReportError
from tare.report.folder import RunFolder
from tare.stats.blocks import BlockedTrials, Key
from tare.stats.effect import from_percent, to_percent
from tare.stats.ending import fewest_blocks
from tare.stats.interval import Interval
from tare.stats.proportion import exact_interval
from tare.stats.rounding import percent
from tare.stats.verdict import Judgement, Verdict

_RESOLVED = (Verdict.COSTS, Verdict.SAVES)
_ARRIVES = 0.9
"""Least share of added work by which a server costs more: its own work falls a little
(experiments/calibration/README.md, "How the truth is known").
"""


@dataclass(frozen=True)
class _Found:
    """One study's end."""

    verdict: Verdict
    log_ratio: float
    interval: Interval | None
    blocks: int


def cut(runs: Sequence[RunFolder], calibrates: Calibrates, blocks: int) -> list[Series]:
    """Return how often studies of so many blocks are right, by scenario and judged outcome whose
    truth is known; those of several runs are counted together.

    Raises ReportError for runs of other scenarios, or too short for one study.
    """
    first, *others = runs
    for run in others:
        if _measured(run.plan) != _measured(first.plan):
            raise ReportError(f"{run.path}: expected the study and scenarios of {first.path}")
    scenarios = first.plan.scenarios
    found = [each for scenario in scenarios for each in _of(runs, scenario, calibrates, blocks)]
    if not found:
        raise ReportError(
            f"{first.path}: found no {blocks} whole blocks, expected a run of many times as many"
        )
    return found


def _measured(plan: Plan) -> dict[str, object]:
    """Return what two plans must share for their studies to be of one kind."""
    kept = {"experiment", "study", "variants", "scenarios", "outcomes", "judged", "pairing"}
    return plan.model_dump(include=kept)


def contains(interval_pct: tuple[float, float], truth_pct: float) -> bool:
    """Return true if what a server costs more, when it adds so much to its own work, may lie in the
    interval.
    """
    low, high = interval_pct
    least, most = sorted((_ARRIVES * truth_pct, truth_pct))
    return low <= most and high >= least


def sentences(found: Series) -> Iterator[str]:
    """Say it in words, one line for each way of looking; shares have their 95 % interval."""
    yield (
        f"{found.title}, {found.studies} studies ({found.scenario}), added {found.truth_pct:+.2f} %"
    )
    for name, looks in (
        ("looked at once", found.fixed),
        ("looked at after every block that could decide", found.peeking),
    ):
        wrong = exact_interval(looks.wrong, found.studies)
        share = f"{100 * wrong.low:.1f} to {percent(wrong.high, 1)}"
        wide = "" if looks.half_width_pct is None else f", median ±{looks.half_width_pct:.2f} %"
        yield (
            f"  {name}, {looks.blocks:.1f} blocks each: {looks.wrong} wrong ({share}); "
            f"{looks.costs} cost, {looks.saves} save, {looks.equivalent} equivalent, "
            f"{looks.unresolved} unresolved; the interval agrees with it in {looks.covered} of "
            f"{looks.intervals}{wide}"
        )


def _of(
    runs: Sequence[RunFolder], scenario: Scenario, calibrates: Calibrates, blocks: int
) -> Iterator[Series]:
    plan = runs[0].plan
    (variant,) = plan.variants[1:]
    truths = [
        truth
        for run in runs
        for truth in BlockedTrials(plan, scenario, run.trials).values(variant, calibrates.truth)
    ]
    studies = [study for run in runs for study in _studies(run.trials, blocks)]
    if not truths or not studies:
        return
    truth = median(truths)
    for outcome in plan.judged:
        # Where nothing was added, nothing differs; else only one effect is known.
        if truth and outcome != calibrates.outcome:
            continue
        key = (variant, outcome)
        ends = [_at_end(plan, scenario, trials, key, blocks) for trials in studies]
        first = [_at_first(plan, scenario, trials, key, blocks) for trials in studies]
        yield Series(
            scenario=scenario.name,
            outcome=outcome,
            title=plan.outcomes[outcome].title,
            truth_pct=truth,
            studies=len(studies),
            fixed=_looks(ends, truth),
            peeking=_looks(first, truth),
        )


def _studies(trials: Sequence[Trial], blocks: int) -> Iterator[list[Trial]]:
    """Whole studies, their blocks numbered from 0, as if each block was made after the last."""
    whole = max((trial.block for trial in trials), default=-1) + 1
    for first in range(0, whole - blocks + 1, blocks):
        yield [
            trial.model_copy(update={"block": trial.block - first})
            for trial in sorted(trials, key=lambda each: each.block)
            if first <= trial.block < first + blocks
        ]


def _at_end(
    plan: Plan, scenario: Scenario, trials: Sequence[Trial], key: Key, blocks: int
) -> _Found:
    once = plan.model_copy(update={"until": "narrow"})
    return _judged(BlockedTrials(once, scenario, trials), key, blocks)


def _at_first(
    plan: Plan, scenario: Scenario, trials: Sequence[Trial], key: Key, blocks: int
) -> _Found:
    """Look after every block, and end with the first verdict."""
    often = plan.model_copy(update={"until": "resolved"})
    for done in range(min(fewest_blocks(often), blocks), blocks):
        so_far = [trial for trial in trials if trial.block < done]
        found = _judged(BlockedTrials(often, scenario, so_far), key, done)
        if found.verdict is not Verdict.UNRESOLVED:
            return found
    return _judged(BlockedTrials(often, scenario, trials), key, blocks)


def _judged(blocked: BlockedTrials, key: Key, blocks: int) -> _Found:
    effect = blocked.effect(*key)
    judgement = blocked.judge().get(key, Judgement(Verdict.UNRESOLVED, 1.0, "nothing counted"))
    if effect is None:
        return _Found(Verdict.UNRESOLVED, 0.0, None, blocks)
    return _Found(judgement.verdict, effect.log_ratio, effect.interval, blocks)


def _looks(found: Sequence[_Found], truth_pct: float) -> Looks:
    truth = from_percent(truth_pct)
    verdicts = Counter(each.verdict for each in found)
    known = [each.interval for each in found if each.interval is not None]
    widths = [(each.high - each.low) / 2 for each in known]
    return Looks(
        costs=verdicts[Verdict.COSTS],
        saves=verdicts[Verdict.SAVES],
        equivalent=verdicts[Verdict.EQUIVALENT],
        unresolved=verdicts[Verdict.UNRESOLVED],
        wrong=sum(each.verdict in _RESOLVED and each.log_ratio * truth <= 0 for each in found),
        covered=sum(
            contains((to_percent(each.low), to_percent(each.high)), truth_pct) for each in known
        ),
        intervals=len(known),
        half_width_pct=100 * median(widths) if widths else None,
        blocks=fmean(each.blocks for each in found),
    )
