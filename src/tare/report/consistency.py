"""Plans and trials that contradict themselves or each other, as after an edit by hand."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tare.model.trial import CONTROL, Plan, Trial
from tare.stats.dose_response import windows
from tare.stats.rounding import counted
from tare.stats.slope import has_pairs


def fault(plan: Plan) -> str | None:
    """Return why a plan cannot be one, or None."""
    return next(_faults(plan), None)


def fitting(plan: Plan, trials: Iterable[Trial]) -> tuple[list[Trial], list[str]]:
    """Return the trials of this plan with its outcomes, and what was set aside, with the reason."""
    kept, set_aside = [], []
    unknown: Counter[str] = Counter()
    for trial in trials:
        if (why := _misfit(plan, trial)) is not None:
            set_aside.append(f"trial {trial.id} is not of this plan: {why}")
            continue
        known = {name: value for name, value in trial.outcomes.items() if name in plan.outcomes}
        unknown.update(trial.outcomes.keys() - known.keys())
        same = len(known) == len(trial.outcomes)
        kept.append(trial if same else trial.model_copy(update={"outcomes": known}))
    for name, count in sorted(unknown.items()):
        told = counted(count, "trial")
        set_aside.append(f"outcome {name!r} of {told} is not of this plan")
    return kept, set_aside


def _faults(plan: Plan) -> Iterator[str]:
    scenarios = [each.name for each in plan.scenarios]
    if not scenarios:
        yield "scenarios: found none"
    if plan.variants[:1] != [plan.baseline]:
        yield f"variants: expected the baseline {plan.baseline!r} first"
    for field, names in (("scenarios", scenarios), ("variants", [*plan.variants, CONTROL])):
        for name in names:
            if names.count(name) > 1:
                yield f"{field}: found {name!r} twice"
    if len({frozenset(each.levels) for each in plan.scenarios}) > 1:
        yield "scenarios: their levels are not of the same factors"
    known = plan.outcomes.keys()
    for field in ("judged", "awaited", "shown", "limits"):
        for name in getattr(plan, field):
            if name not in known:
                yield f"{field}: found {name!r}, which is no outcome of it"
    for name in (*plan.baselines, *plan.baselines.values()):
        if name not in plan.variants:
            yield f"baselines: found {name!r}, which is no variant of it"


def _misfit(plan: Plan, trial: Trial) -> str | None:
    if trial.scenario not in {each.name for each in plan.scenarios}:
        return f"it has no scenario {trial.scenario!r}"
    for label in trial.label.split("@"):
        if label not in (*plan.variants, CONTROL):
            return f"it has no variant {label!r}"
    note = trial.instrument.get("slope")
    if note is not None and note["outcome"] not in plan.outcomes:
        return f"it has no outcome {note['outcome']!r}"
    has_slope = any(
        value is not None and name in plan.outcomes and plan.outcomes[name].is_slope
        for name, value in trial.outcomes.items()
    )
    if trial.status == "valid" and has_slope and (note is None or not has_pairs(windows(trial))):
        return "it has a slope, and no windows that it could be of"
    return None
