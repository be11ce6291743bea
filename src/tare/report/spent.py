"""CPU time per request by who spent it, from a run's trials."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from tare.model.outcome import Outcome
from tare.model.trial import Trial
from tare.report.folder import RunFolder
from tare.report.titles import role_title

_PART_OF = "of it "
"""How the title of an outcome begins that is a part of the total before it."""
_FEWEST = 2
"""Parts, of which it takes more than one to be stacked."""
_LEAST_SHARE = 0.002
"""Of the largest total: a part that is smaller everywhere is left out."""

Spent = dict[str, dict[str, float]]
"""Label → part → µs per request, means over the trials that count."""


def spent(folder: RunFolder, scenario: str) -> Spent:
    """Return each label's parts, which add up, the smallest sum first; empty where there are none.

    The parts are the outcomes that a study calls so, as where softirq and kernel threads are
    accounted for; else the roles. Where doses were measured they are known of the last one only.
    """
    if folder.is_dosed:
        return {}
    trials: dict[str, list[Trial]] = {}
    for trial in folder.trials:
        if trial.scenario == scenario and trial.status == "valid":
            trials.setdefault(trial.shown_as, []).append(trial)
    parts = {
        name: outcome
        for name, outcome in folder.plan.outcomes.items()
        if outcome.title.startswith(_PART_OF) and outcome.unit == "µs"
    }
    found = {
        label: _by_outcome(own, parts) if parts else _by_role(own) for label, own in trials.items()
    }
    most = max((sum(own.values()) for own in found.values()), default=0.0)
    large = {part for own in found.values() for part, us in own.items() if us > most * _LEAST_SHARE}
    kept = {
        label: {part: us for part, us in own.items() if part in large}
        for label, own in found.items()
    }
    if len(large) < _FEWEST:
        return {}
    return dict(sorted(kept.items(), key=lambda item: sum(item[1].values())))


def _by_outcome(trials: Sequence[Trial], parts: Mapping[str, Outcome]) -> dict[str, float]:
    values = {
        outcome.title.removeprefix(_PART_OF).removeprefix("the "): [
            value for trial in trials if (value := trial.outcomes.get(name)) is not None
        ]
        for name, outcome in parts.items()
    }
    return {part: fmean(own) for part, own in values.items() if own}


def _by_role(trials: Sequence[Trial]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for trial in trials:
        requests = trial.instrument.get("outcomes", {}).get("requests")
        if not requests:
            continue
        for role, values in trial.roles.items():
            if (us := values.get("cpu_us")) is not None:
                found.setdefault(role_title(role), []).append(us / requests)
    return {part: fmean(own) for part, own in found.items()}
