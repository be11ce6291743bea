"""results.json: a run's results, from its folder alone."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tare.model.given_up import absent, baseline_failed, given_up, hopeless
from tare.model.outcome import Outcome
from tare.model.results import (
    Floor,
    OutcomeResult,
    PairResult,
    Quantile,
    Results,
    ScenarioResult,
    VariantResult,
)
from tare.model.trial import Trial
from tare.report import benches, starts
from tare.report.causes import causes
from tare.report.folder import RunFolder
from tare.report.sentence import answers
from tare.report.slopes import slopes
from tare.report.tails import tails
from tare.stats.blocks import BlockedTrials, Key, planned_trials
from tare.stats.control import judge_control
from tare.stats.ending import is_over, stop
from tare.stats.histogram import Histogram
from tare.stats.late import too_late
from tare.stats.plan_order import CONTROL
from tare.stats.quantile import median
from tare.stats.stopping import Stop
from tare.stats.verdict import Judgement

NOT_YET = "not measured yet"
"""The reason of a variant of which no trial was made."""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}


def make(folder: RunFolder) -> Results:
    """All scenarios of a run, finished or not."""
    plan, trials = folder.plan, folder.trials
    wall_s = sum(trial.wall_s for trial in trials)
    found = Results(
        experiment=plan.experiment,
        study=plan.study,
        title=plan.title,
        question=plan.question,
        run=plan.run,
        seed=plan.seed,
        baseline=plan.baseline,
        baselines=plan.baselines,
        complete=complete(folder),
        margin_pct=plan.margin_pct,
        overview=plan.overview,
        measured_share=sum(trial.measured_s for trial in trials) / wall_s if wall_s else 0.0,
        environment=_environment(folder),
        block_s=_block_s(trials),
        scenarios=_scenarios(folder),
        benches=benches.of(folder),
        pairing=plan.pairing,
        running=plan.running,
        limits=plan.limits,
    )
    return found.model_copy(update={"answers": answers(found)})


def _block_s(trials: Sequence[Trial]) -> float:
    """Return the mean time between blocks, which benches make at the same time; both sides of a
    duel have its time.
    """
    blocks, benches = {each.block for each in trials}, {each.bench for each in trials}
    spent = sum(trial.wall_s for trial in trials if trial.label == trial.shown_as)
    return spent / len(blocks) / len(benches) if blocks else 0.0


def _environment(folder: RunFolder) -> dict[str, Any]:
    """Return the machine and what is to be said of the run, lines that were set aside included."""
    found = {key: item for key, item in folder.environment.items() if key != "files"}
    if folder.set_aside:
        lines = [f"set aside of the trials: {line}" for line in folder.set_aside]
        found["remarks"] = [*found.get("remarks", []), *lines]
    return found


def complete(folder: RunFolder) -> bool:
    """Return true if the run ended by its own rule: the plan is walked as the run walks it."""
    plan = folder.plan
    made = _ended(folder)
    over = {each.name: given_up(plan, each.name, folder.trials) for each in plan.scenarios}
    block, decision = 0, Stop.GO_ON
    while decision is Stop.GO_ON:
        for planned in planned_trials(plan, block):
            is_made = (planned.block, planned.scenario, planned.label) in made
            if (
                not is_made
                and planned.label not in over[planned.scenario]
                and not too_late(plan, planned, folder.trials)
            ):
                return is_over(plan, folder.trials)
        block += 1
        decision = stop(plan, folder.trials, block)
    return True


def _ended(folder: RunFolder) -> set[tuple[int, str, str]]:
    """Return block, scenario and label of the planned trials that are not tried again: one counted,
    or as many were refused as may be, not all of them by a fault of the machine.
    """
    attempts: dict[tuple[int, str, str], list[Trial]] = defaultdict(list)
    for trial in folder.trials:
        attempts[trial.block, trial.scenario, trial.label].append(trial)
    return {
        which
        for which, made in attempts.items()
        if any(trial.status != "invalid" for trial in made)
        or (
            len(made) >= folder.plan.attempts_in(which[1])
            and not all(trial.machine_fault for trial in made)
        )
    }


def _scenarios(folder: RunFolder) -> list[ScenarioResult]:
    found = [
        BlockedTrials(
            folder.plan,
            scenario,
            [trial for trial in folder.trials if trial.scenario == scenario.name],
        )
        for scenario in folder.plan.scenarios
    ]
    control = judge_control(found)
    return [_scenario(folder, paired, control) for paired in found]


def _scenario(
    folder: RunFolder, paired: BlockedTrials, control: Mapping[Key, Judgement]
) -> ScenarioResult:
    plan, name = folder.plan, paired.scenario.name
    verdicts = paired.judge() | {
        (CONTROL, outcome): found
        for (scenario, outcome), found in control.items()
        if scenario == name
    }
    return ScenarioResult(
        name=name,
        levels=paired.scenario.levels,
        parameters=paired.scenario.parameters,
        noise_floor={
            name: _floor(paired, name, verdicts)
            for name in plan.reported
            if not plan.outcomes[name].is_slope
        },
        variants={
            label: _variant(folder, paired, label, verdicts) for label in [*plan.variants, CONTROL]
        },
        pairs=[
            PairResult(
                outcome=outcome,
                variant=variant,
                against=other,
                effect_pct=effect.percent,
                ci_pct=effect.percent_interval,
                p_adjusted=found.p_adjusted,
                verdict=found.verdict.value,
                why=found.why,
                more_blocks=found.more_blocks,
                blocks=effect.n,
            )
            for (variant, other, outcome), (effect, found) in paired.judge_pairs().items()
        ],
        slopes=slopes(paired, verdicts),
        causes=causes(folder, name, [*plan.variants, CONTROL]),
        tails=tails(folder, name, [*plan.variants, CONTROL]),
        within=starts.of_scenario(paired),
    )


def _floor(paired: BlockedTrials, outcome: str, verdicts: Mapping[Key, Judgement]) -> Floor:
    floor = paired.floor(outcome)
    verdict = verdicts.get((CONTROL, outcome))
    return Floor(
        effect_pct=floor and floor.effect.percent,
        ci_pct=floor and floor.effect.percent_interval,
        reach_pct=floor and floor.percent,
        detectable_pct=floor and floor.detectable_percent,
        verdict=verdict and verdict.verdict.value,
        blocks=floor.effect.n if floor else 0,
    )


def _variant(
    folder: RunFolder, paired: BlockedTrials, label: str, verdicts: Mapping[Key, Judgement]
) -> VariantResult:
    own = [trial for trial in paired.own if trial.shown_as == label]
    by_status = {
        status: [trial for trial in own if trial.status == status]
        for status in ("valid", "invalid", "failed", "unavailable")
    }
    valid = by_status["valid"]
    status, reason = _status(paired, label, by_status)
    return VariantResult(
        status=status,
        reason=reason,
        version=next((trial.version for trial in own if trial.version), None),
        trials_valid=_made(valid),
        trials_invalid=_made(by_status["invalid"]),
        trials_failed=_made(by_status["failed"]),
        outcomes={
            name: _outcome(paired, label, name, verdicts.get((label, name)))
            for name in folder.plan.reported
            if not (outcome := folder.plan.outcomes[name]).is_slope
            and (paired.values(label, name) or _could_have(valid, outcome))
        }
        if valid
        else {},
        latency=_latency(folder.latency(paired.scenario.name, label)) if valid else {},
    )


def _made(trials: Sequence[Trial]) -> int:
    """Return how many trials these are, a duel counted once: with its variant."""
    return sum(not trial.is_other_side for trial in trials)


def _could_have(trials: Sequence[Trial], outcome: Outcome) -> bool:
    """Return true if these trials could have had a value of `outcome`.

    They could not if no analysis was made that yields it, or if they have no such role.
    """
    roles = {role for trial in trials for role in trial.roles}
    for part in outcome.value.split("+"):
        match part.strip().split("."):
            case ["analysis", _]:
                continue
            case ["role", role, _] if role not in roles:
                continue
        return True
    return False


def _status(
    paired: BlockedTrials, label: str, by_status: Mapping[str, Sequence[Trial]]
) -> tuple[str, str | None]:
    """A variant that ever failed has failed; one that never counted is invalid."""
    for status in ("unavailable", "failed"):
        if trials := by_status[status]:
            return status, trials[0].reason
    if not by_status["valid"]:
        # Under another label: the A/A control is the baseline, too.
        lost = absent(paired.trials).get((paired.scenario.name, paired.plan.variant_of(label)))
        if lost is not None:
            return "unavailable", lost
        reasons = [trial.reason for trial in by_status["invalid"]]
        return "invalid", reasons[-1] if reasons else _not_tried(paired, label)
    return "measured", None


def _not_tried(paired: BlockedTrials, label: str) -> str:
    """Return why a label has no trials: its baseline's failures ended the scenario, or the run has
    not come to it.
    """
    failed = {variant for _, variant in hopeless(paired.trials)}
    for name in (paired.plan.baseline_of(label), paired.plan.baseline):
        if name in failed:
            return baseline_failed(name)
    return NOT_YET


def _outcome(
    paired: BlockedTrials, label: str, name: str, found: Judgement | None
) -> OutcomeResult:
    outcome = paired.plan.outcomes[name]
    values = paired.values(label, name)
    middle = median(values) if values else None
    effect = None if label == paired.plan.baseline else paired.effect(label, name)
    interval = middle.interval if middle else None
    return OutcomeResult(
        title=outcome.title,
        unit=outcome.unit,
        better=outcome.better,
        median=middle and middle.value,
        median_ci=(interval.low, interval.high) if interval else None,
        effect_pct=effect and effect.percent,
        ci_pct=effect and effect.percent_interval,
        p_adjusted=found and found.p_adjusted,
        judged=found is not None,
        verdict=found and found.verdict.value,
        why=found and found.why,
        more_blocks=found and found.more_blocks,
        blocks=effect.n if effect else len(values),
    )


def _latency(whole: Histogram | None) -> dict[str, Quantile]:
    if whole is None:
        return {}
    found = {}
    for name, q in QUANTILES.items():
        value, interval = whole.quantile(q), whole.quantile_interval(q)
        found[name] = Quantile(
            value_us=None if value is None else value / 1e3,
            ci_us=(interval.low / 1e3, interval.high / 1e3) if interval else None,
        )
    return found
