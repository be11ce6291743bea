"""The causes of a difference in sentences: the functions and system calls that differ."""

from collections.abc import Sequence

from tare.model.results import CauseResult, CountResult, FrameResult
from tare.report.numbers import figure, listed

_NEARLY = 0.8
"""Of the largest difference: functions that have so much of it have the same cause."""
_ALL = 0.9
"""Of the whole CPU time: a function that has so much, with what it calls, says nothing."""
_NAMED = 3
_LEAST_COUNT = 0.01
"""A request: smaller differences in counts are not worth a sentence."""
_CALL = "syscall."
_PROC = {
    "switch.voluntary": "voluntary context switches",
    "switch.involuntary": "involuntary context switches",
    "fault.minor": "minor page faults",
    "fault.major": "major page faults",
}
"""Counts of which a sentence speaks where system calls are not seen."""


def because(cause: CauseResult, baseline: str) -> list[str]:
    """Return what explains the difference, and why no more was seen; nothing if there is none."""
    found = []
    low, high = cause.ci_ns
    if low > 0 or high < 0:
        found.append(_of_time(cause, baseline))
    calls = [
        each
        for each in cause.counts
        if each.clear
        and (each.name.startswith(_CALL) or (cause.only_counted and each.name in _PROC))
        and abs(each.difference) >= _LEAST_COUNT
    ]
    if calls:
        told = listed([_of_calls(each) for each in calls[:_NAMED]])
        found.append(f"Per request, {cause.label} makes {told} than {baseline}.")
    if cause.only_counted:
        found.append(f"Functions and system calls were not seen: {cause.only_counted}.")
    return found


def _of_time(cause: CauseResult, baseline: str) -> str:
    more = "more" if cause.difference_ns > 0 else "less"
    words = (
        f"While observed, {cause.label} spent "
        f"{_size(cause.difference_ns, cause.ci_ns)} ns {more} per request than {baseline}"
    )
    named = [
        f"{_size(each.difference_ns, each.ci_ns)} in {each.name} ({each.module})"
        for each in culprits(cause)
    ]
    if named:
        above = [f"{each.name} ({each.module})" for each in callers(cause)]
        called = f", called by {listed(above)}" if above else ""
        return f"{words}: {listed(named)}{called}."
    if cause.only_counted:
        return f"{words}."
    return f"{words}; {cause.duels} duels do not show in which function."


def culprits(cause: CauseResult) -> Sequence[FrameResult]:
    """Return the most special function among those that have nearly the largest difference with
    what they call; where none is clear, those with the largest on their own.
    """
    own = [each for each in _likely(cause) if each.own]
    return _special(cause)[:1] or own[:_NAMED]


def callers(cause: CauseResult) -> Sequence[FrameResult]:
    """Return the functions through which the most special one is called, that one's caller first;
    no more than are worth a sentence.
    """
    return _special(cause)[1:_NAMED]


def _special(cause: CauseResult) -> list[FrameResult]:
    """Return the functions with nearly the largest difference with what they call, without those
    that have nearly all time; the most special one first. Since so much of the difference is in
    each, they call one another.

    A function that has far more than the whole difference got callees from another, as a filter in
    front of the one that writes: it explains no more than its callers do.
    """

    def seen(each: FrameResult) -> float:
        return each.baseline_ns + each.variant_ns

    whole = cause.baseline_ns + cause.variant_ns
    most = abs(cause.difference_ns) / _NEARLY
    found = [
        each
        for each in _likely(cause)
        if not each.own and seen(each) < _ALL * whole and abs(each.difference_ns) <= most
    ]
    least = _NEARLY * max((abs(each.difference_ns) for each in found), default=0)
    return sorted((each for each in found if abs(each.difference_ns) >= least), key=seen)


def _likely(cause: CauseResult) -> list[FrameResult]:
    """Return the functions whose difference is clear and has the whole one's sign."""
    sign = 1 if cause.difference_ns > 0 else -1
    return [each for each in cause.frames if each.clear and each.difference_ns * sign > 0]


def changed(cause: CauseResult) -> list[FrameResult]:
    """Return the functions whose difference is clear, the largest first; those that call nothing
    once.
    """
    clear = [each for each in cause.frames if each.clear]
    alone = {(each.module, each.name): each.difference_ns for each in clear if each.own}
    return [
        each
        for each in clear
        if each.own or alone.get((each.module, each.name)) != each.difference_ns
    ]


def _of_calls(each: CountResult) -> str:
    more = "more" if each.difference > 0 else "fewer"
    name = _PROC.get(each.name) or f"{each.name.removeprefix(_CALL)} calls"
    return f"{_size(each.difference, each.ci)} {more} {name}"


def _size(value: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return figure(value, interval) if value > 0 else figure(-value, (-high, -low))
