"""A gate: has an outcome surely got worse by more than it may?"""

from collections.abc import Mapping
from typing import Literal

from tare.model.base import Record
from tare.model.results import Results
from tare.report.numbers import relative
from tare.report.results import NOT_YET
from tare.report.sentence import distrust
from tare.stats.blocks import worse_by

DEFAULT_LIMITS = {"ordinary_cpu_us_per_request": 2.0, "cpu_us_per_request": 2.0}
"""Percent that an outcome may get worse, where nobody asks for other limits."""

_TIME = "; a longer --within gives it the time"

Decision = Literal["fail", "pass", "cannot-tell"]


class Ruling(Record):
    """The decision about one outcome of one server, with the reason in words."""

    variant: str
    outcome: str
    limit_pct: float
    decision: Decision
    text: str


_ALARM: tuple[Decision, str] = (
    "cannot-tell",
    "cannot tell: the A/A control differs from the baseline",
)


def alarm(results: Results) -> str | None:
    """Return that nothing was decided, and what to do, if the A/A control raises an alarm."""
    if (said := distrust(results)) is None:
        return None
    return (
        f"{said} So no limit was checked: exit code 0 is no pass here. Run the gate again; "
        "tare doctor says what disturbs this machine."
    )


def unmeasured(results: Results) -> list[str]:
    """Return the servers that failed, or else were refused, or else were not measured, with why:
    then nothing is decided. Where one failed, others may not have been measured because of it.
    """
    lost = [
        (name, each)
        for scenario in results.scenarios
        for name, each in scenario.variants.items()
        if each.status != "measured"
    ]
    failed = [(name, each) for name, each in lost if each.status != "invalid"]
    refused = [(name, each) for name, each in lost if each.trials_invalid]
    return [
        f"{name}: {each.reason}" + _TIME * (each.reason == NOT_YET)
        for name, each in failed or refused or lost
    ]


def rulings(results: Results, limits: Mapping[str, float]) -> list[Ruling]:
    """Decide about each limited outcome of each server but the baseline.

    It fails only if the whole interval is beyond the limit, and never if the A/A control raises an
    alarm: then the machine, and no change, may be the cause. Of the default limits, those of
    outcomes that had no value in any trial are left out where another one had some.
    """
    alarmed = bool(results.alarms())
    found = []
    asked = limits != DEFAULT_LIMITS
    valued = [outcome for outcome in limits if asked or _has_value(results, outcome)]
    for scenario in results.scenarios:
        for name, variant in scenario.variants.items():
            if name in (results.baseline, "control"):
                continue
            for outcome in valued or limits:
                limit = limits[outcome]
                known = variant.outcomes.get(outcome)
                title = known.title if known else outcome
                interval = known.ci_pct if known else None
                if known is None or interval is None:
                    some = known is not None and known.median is not None
                    why = "no interval yet" if some else "no trial had a value of it"
                    text = f"{title}: cannot tell: {why}"
                    decision: Decision = "cannot-tell"
                else:
                    least, most = worse_by(interval, known.better)
                    shown = relative(known.effect_pct, interval)
                    decision, words = _ALARM if alarmed else _decide(least, most, limit)
                    text = f"{title} {shown}: {words}"
                found.append(
                    Ruling(
                        variant=name,
                        outcome=outcome,
                        limit_pct=limit,
                        decision=decision,
                        text=text,
                    )
                )
    return found


def _has_value(results: Results, outcome: str) -> bool:
    return any(
        known.median is not None
        for scenario in results.scenarios
        for variant in scenario.variants.values()
        if (known := variant.outcomes.get(outcome)) is not None
    )


def _decide(least: float, most: float, limit: float) -> tuple[Decision, str]:
    if least > limit:
        return "fail", f"surely worse by more than {limit:g} %"
    if most < limit:
        return "pass", f"surely not worse by more than {limit:g} %"
    return (
        "cannot-tell",
        f"cannot tell whether it is worse by more than {limit:g} %; more time would narrow it",
    )
