"""A calibration, made of two runs of the study that has a known difference, and told in words."""

import math
from collections.abc import Iterator, Sequence
from statistics import median

from tare.model.calibration import Calibration, Known, Machine, Resolution
from tare.model.study import Calibrates, Pairing
from tare.model.trial import Plan
from tare.report.errors import ReportError
from tare.report.folder import RunFolder
from tare.report.numbers import listed
from tare.report.sentence import in_sentence
from tare.report.series import contains
from tare.stats.blocks import BlockedTrials, criteria_of
from tare.stats.effect import Effect, to_percent
from tare.stats.ending import comparisons, fewest_blocks
from tare.stats.plan_order import CONTROL
from tare.stats.power import detectable_within, minimum_detectable
from tare.stats.rounding import reach_text
from tare.stats.verdict import Criteria

SPANS_S = {"1 min": 60.0, "5 min": 300.0, "20 min": 1200.0}
"""The times of measuring for which it is said what they resolve."""
WAYS: dict[Pairing, str] = {"slices": "duels", "trials": "trials one after the other"}


def make(
    runs: Sequence[RunFolder],
    calibrates: Calibrates,
    machine: Machine,
    *,
    remarks: Sequence[str],
    advice: Sequence[str],
) -> Calibration:
    """Return what runs of one scenario by different ways of pairing show; the first has the effect
    that is known. Raises ReportError if too few trials counted.
    """
    first = runs[0]
    return Calibration(
        created=first.plan.created,
        tare=first.plan.tare,
        machine=machine,
        resolutions=[found for run in runs for found in _resolutions(run, calibrates)],
        known=_known(first, calibrates),
        runs=[run.plan.run for run in runs],
        remarks=list(remarks),
        advice=list(advice),
    )


def sentence(found: Calibration) -> str:
    """Return what a minute of duels resolves, in one sentence."""
    parts = []
    for each in found.resolutions:
        if each.pairing == "slices":
            least = detectable_within(each.spread, each.block_s, SPANS_S["1 min"])
            if least is not None:
                parts.append(f"{_percent(least)} in {in_sentence(each.title)}")
    if not parts:
        return "In one minute of duels this machine finds nothing: it is too slow or too disturbed."
    return f"In one minute of duels this machine finds a difference of {listed(parts)}."


def rows(found: Calibration) -> Iterator[list[str]]:
    """Yield a row for each outcome and way of pairing: its names, and what each span resolves."""
    for each in found.resolutions:
        least = [
            detectable_within(each.spread, each.block_s, seconds) for seconds in SPANS_S.values()
        ]
        cells = ["–" if one is None else _percent(one) for one in least]
        yield [each.title, WAYS[each.pairing], *cells]


def check(found: Calibration) -> str:
    """Return how the known difference was seen."""
    known = found.known
    if known.ci_pct is None:
        return f"The check found too few duels to see a difference of {known.truth_pct:.2f} %."
    low, high = known.ci_pct
    seen = (
        f"Check: a server that adds {known.truth_pct:.2f} % to its own work was seen as "
        f"{known.effect_pct:+.2f} % [{low:+.2f}, {high:+.2f}]"
    )
    if contains(known.ci_pct, known.truth_pct):
        return f"{seen}."
    return (
        f"{seen}: the interval misses the truth, as one in twenty does. If it happens again, do "
        "not believe this machine."
    )


def expected(found: Calibration, plan: Plan) -> str | None:
    """Return what the plan's fewest blocks find by this calibration, in words; None where it says
    nothing of the plan's outcomes, where the run ends by what it finds, or where so few blocks
    cannot show a difference.
    """
    family = max(comparisons(plan), 1)
    blocks = min(fewest_blocks(plan), plan.blocks.max)
    if plan.until == "resolved" or blocks < criteria_of(plan).fewest_blocks(family):
        return None
    duration_s = min(float(each.parameters.get("duration_s", 1.0)) for each in plan.scenarios)
    alpha = Criteria().alpha / family
    parts = []
    for each in found.resolutions:
        if each.outcome in plan.judged and each.pairing == plan.pairing:
            spread = each.spread * math.sqrt(each.duration_s / duration_s)
            least = minimum_detectable(spread, blocks, alpha)
            parts.append(f"{_percent(least)} in {in_sentence(each.title)}")
    if not parts:
        return None
    return (
        f"{blocks} blocks of tare calibrate's own server find {listed(parts)}; yours may be noisier"
    )


def _resolutions(run: RunFolder, calibrates: Calibrates) -> Iterator[Resolution]:
    plan = run.plan
    (scenario,) = plan.scenarios
    blocked = BlockedTrials(plan, scenario, run.trials)
    (variant,) = plan.variants[1:]
    # Both sides of a duel have its time.
    spent = sum(trial.wall_s for trial in run.trials if trial.label == trial.shown_as)
    blocks = len({trial.block for trial in run.trials})
    for name in plan.reported:
        # A probe asks the known server, as no other can be asked.
        asked = any(path.source == "probe" for path in plan.outcomes[name].paths)
        # Trials one after the other have no rounds, and so no outcome of ordinary ones.
        if asked or not blocked.has_values(name):
            continue
        pairs = [
            effect
            for label in (CONTROL, variant)
            if (effect := blocked.effect(label, name)) is not None and effect.n > 1
        ]
        if not pairs:
            raise ReportError(
                f"{run.path}: too few trials counted to say what this machine resolves; "
                f"tare report {run.plan.run} says why"
            )
        yield Resolution(
            outcome=name,
            title=plan.outcomes[name].title,
            pairing=plan.pairing,
            spread=_pooled(pairs),
            pairs=sum(each.n for each in pairs),
            block_s=spent / blocks,
            duration_s=float(scenario.parameters["duration_s"]),
        )


def _pooled(effects: Sequence[Effect]) -> float:
    weights = [each.n - 1 for each in effects]
    squares = [weight * each.spread**2 for weight, each in zip(weights, effects, strict=True)]
    return math.sqrt(math.fsum(squares) / sum(weights))


def _known(run: RunFolder, calibrates: Calibrates) -> Known:
    plan = run.plan
    (scenario,) = plan.scenarios
    (variant,) = plan.variants[1:]
    blocked = BlockedTrials(plan, scenario, run.trials)
    effects = {name: blocked.effect(variant, name) for name in calibrates.outcomes}
    outcome, effect = next(
        ((name, found) for name, found in effects.items() if found is not None), (None, None)
    )
    truths = blocked.values(variant, calibrates.truth)
    if outcome is None or effect is None or not truths:
        raise ReportError(f"{run.path}: no duel of {variant} counted")
    return Known(
        outcome=outcome,
        truth_pct=median(truths),
        effect_pct=effect.percent,
        ci_pct=effect.percent_interval,
    )


def _percent(log_ratio: float) -> str:
    return reach_text(to_percent(log_ratio))
