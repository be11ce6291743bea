"""Gates that a rate too high closes: answers that failed, that are none, or that came too late."""

from collections.abc import Iterator

from tare.lab.trial.gates.gate import Conditions, Finding, Gate
from tare.model.gates import Gates
from tare.stats.rounding import percent


def _errors(limits: Gates, window: Conditions) -> Iterator[Finding]:
    """Errors are a share of all that was answered or failed, in a duel on both sides together; each
    side's are told.
    """
    results = window.sides or {"": window.result}
    failed = sum(sum(each.errors.values()) for each in results.values())
    seen = failed + sum(each.requests for each in results.values())
    share = failed / seen if seen else 0.0
    told = []
    for side, each in results.items():
        if kinds := ", ".join(f"{kind} {count}" for kind, count in each.errors.items() if count):
            told.append(f"{side}: {kinds}" if side else kinds)
    yield Finding(
        share <= limits.errors_max,
        "; ".join(told) or "none",
        f"at most {percent(limits.errors_max, 2)} of requests",
    )


def _requests(limits: Gates, window: Conditions) -> Iterator[Finding]:
    """A load has answers, in a duel from both sides."""
    if window.result.load is not None:
        answered = min(each.requests for each in window.sides.values() or [window.result])
        yield Finding(answered > 0, f"{answered:.0f} answered", "more than 0")


def _achieved(limits: Gates, window: Conditions) -> Iterator[Finding]:
    """Check that an open loop's requests are answered as fast as they are sent."""
    load = window.result.load
    if load is not None and load.loop == "open":
        achieved = load.completed / load.offered if load.offered else 0.0
        yield Finding(
            achieved >= limits.achieved_min,
            f"{percent(achieved, 2)} of the offered load",
            f"at least {percent(limits.achieved_min, 2)}",
        )


ERRORS = Gate("errors", _errors)
REQUESTS = Gate("requests", _requests)
ACHIEVED = Gate("achieved", _achieved)
