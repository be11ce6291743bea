"""A run of two servers in one sentence: what differs, what does not, what could not be told."""

from tare.model.results import OutcomeResult, Results, ScenarioResult
from tare.stats.plan_order import CONTROL

_FEW = 2
_TIMES = 2.0
"""From this factor on, a difference is told as one."""


def answers(results: Results) -> list[str]:
    """Return a sentence for each scenario and variant of a run that has one or two variants beside
    its baseline; more would be no answer in a sentence.
    """
    found = []
    for scenario in results.scenarios:
        others = [name for name in scenario.variants if name not in (results.baseline, CONTROL)]
        if len(others) <= _FEW:
            found += [sentence(results, scenario, name) for name in others]
    return found


def sentence(results: Results, scenario: ScenarioResult, variant: str) -> str:
    """Return the verdicts of one variant against its baseline, in words.

    A control that differs from itself comes first: then nothing else is to be believed.
    """
    baseline = results.baseline_of(variant)
    if alarms := _alarms(scenario):
        return (
            f"Do not believe this run: {baseline} differs from itself in {_listed(alarms)}, "
            "by the A/A control."
        )
    own = scenario.variants[variant]
    if own.status != "measured":
        return f"{variant} could not be measured: {own.reason}"
    judged = [outcome for outcome in own.outcomes.values() if outcome.judged]
    parts = [_told(outcome, results.margin_pct) for outcome in judged]
    if not parts:
        return f"{variant} against {baseline}: nothing was judged."
    return f"{variant} against {baseline}: {'; '.join(parts)}."


def _alarms(scenario: ScenarioResult) -> list[str]:
    titles = {
        name: outcome.title
        for variant in scenario.variants.values()
        for name, outcome in variant.outcomes.items()
    }
    return [
        titles[name].lower()
        for name, floor in scenario.noise_floor.items()
        if floor.verdict in ("costs", "saves")
    ]


def _told(outcome: OutcomeResult, margin_pct: float) -> str:
    # An abbreviation such as CPU stays as it is.
    lower = outcome.title[1:2].islower()
    title = outcome.title[0].lower() + outcome.title[1:] if lower else outcome.title
    if outcome.verdict in ("costs", "saves"):
        return f"{title} is {_difference(outcome)}"
    if outcome.verdict == "equivalent":
        return f"{title} is equivalent, within ±{margin_pct:g} %"
    if outcome.ci_pct is None:
        return f"{title} could not be told, with {outcome.blocks} duels"
    low, high = outcome.ci_pct
    words = f"between {_percent(low)} and {_percent(high)}"
    if low > 0 or high < 0:
        words += f", but {outcome.why}"
    return f"{title} could not be told: {words}"


def _difference(outcome: OutcomeResult) -> str:
    """`2.1 % [1.6, 2.6] higher`, or `2.4 times [2.3, 2.5] as high`."""
    assert outcome.effect_pct is not None and outcome.ci_pct is not None
    factors = [1 + each / 100 for each in (outcome.effect_pct, *outcome.ci_pct)]
    if factors[0] >= _TIMES:
        middle, low, high = factors
        return f"{middle:.3g} times [{low:.3g}, {high:.3g}] as high"
    sign, word = (1, "higher") if outcome.effect_pct > 0 else (-1, "lower")
    low, high = sorted(sign * each for each in outcome.ci_pct)
    return f"{sign * outcome.effect_pct:.2g} % [{low:.2g}, {high:.2g}] {word}"


def _percent(value: float) -> str:
    return f"{value:+.2g} %"


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
