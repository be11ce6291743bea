"""A duel's sides that work in each other's turns, and so may slow each other's slowest answers."""

import re
from collections.abc import Sequence

from tare.model.results import Results, ScenarioResult
from tare.report.ranking import Ranking
from tare.stats.rounding import two_digits

_SHARE = "cpu_elsewhere"
"""The outcome that is the share of a side's CPU time in the other's turns, in percent."""
_CLEAR_PCT = 1.0
_TAIL = re.compile(r"latency_p9\d*_us$")


def warning(
    results: Results, scenario: ScenarioResult, found: Sequence[Ranking], label: str
) -> str | None:
    """Return who may slow whom, where a verdict on the slowest answers of `label` was given."""
    against = results.baseline_of(label)
    judged = any(
        each.label == label and each.verdict != "unresolved"
        for ranking in found
        if _TAIL.search(ranking.name)
        for each in ranking.standings
    )
    shares = {
        (worker, other): share
        for worker, other in ((label, against), (against, label))
        if (share := _share(scenario, worker)) is not None and share >= _CLEAR_PCT
    }
    if not judged or not shares:
        return None
    if len(shares) == 2:
        first, second = (two_digits(share) for share in shares.values())
        return (
            f"{label} and {against} use {first} % and {second} % of their CPU time in each other's "
            "turns: the slowest answers of each may be faster alone."
        )
    ((worker, other), share), *_ = shares.items()
    return (
        f"{worker} uses {two_digits(share)} % of its CPU time in the turns of {other}: the slowest "
        f"answers of {other} may be faster alone."
    )


def _share(scenario: ScenarioResult, label: str) -> float | None:
    variant = scenario.variants.get(label)
    outcome = variant.outcomes.get(_SHARE) if variant is not None else None
    return outcome.median if outcome is not None else None
