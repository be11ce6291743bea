"""The causes of a difference in sentences: the functions and system calls that differ."""

import re
from collections.abc import Sequence

from tare.model.results import CauseResult, CountResult, FrameResult, RoleResult
from tare.model.study import Pairing
from tare.report.numbers import figure, listed
from tare.report.titles import role_title
from tare.stats.rounding import counted, reach_text

_NEARLY = 0.8
"""Of the largest difference: functions that have so much of it have the same cause."""
_ALL = 0.9
"""Of the whole CPU time: a function that has so much, with what it calls, says nothing."""
_PART = 0.2
"""Of the whole difference: a function that has less explains little."""
_MOST = 0.5
"""Of a role's difference: a function that has more has most of it."""
_OF_LOOKING = re.compile(
    r"bpf_trace_run|__bpf_trace_|__traceiter_|bpf_prog_[0-9a-f]{16}_(sample|follow|switched|settle"
    r"|waking|woken|syscall_begins|syscall_ends|fault_user|fault_kernel|softirq|packet_sent|forked"
    r"|executed|freed)$"
)
"""How functions of the kernel begin that call programs of observers, and those of tare-profile."""
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


def seen_in(cause: CauseResult, pairing: Pairing | None) -> str:
    """Return how many pairs of windows it is made of, in words."""
    return counted(cause.duels, "block" if pairing == "trials" else "duel")


def because(cause: CauseResult, baseline: str, pairing: Pairing | None) -> list[str]:
    """Return what explains the difference, and why no more was seen; nothing if there is none."""
    found = []
    low, high = cause.ci_ns
    if low > 0 or high < 0:
        found.append(_of_time(cause, baseline, pairing))
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
    if cause.lost_share and (found or changed(cause)):
        lost = reach_text(100 * cause.lost_share)
        found.append(
            f"{lost[0].upper()}{lost[1:]} of the samples found no room, so what functions of "
            f"{cause.label} and {baseline} spend is more than is shown."
        )
    return found


def _of_time(cause: CauseResult, baseline: str, pairing: Pairing | None) -> str:
    more = "more" if cause.difference_ns > 0 else "less"
    words = (
        f"While observed, {cause.label} spent "
        f"{_size(cause.difference_ns, cause.ci_ns)} ns {more} per request than {baseline}"
    )
    if opposed := _opposed(cause):
        return f"{words}: {'; '.join(_of_role(cause, each) for each in opposed)}."
    named = [
        f"{_size(each.difference_ns, each.ci_ns)} in {each.name} ({each.module})"
        for each in culprits(cause)
    ]
    if named:
        return f"{words}: {listed(named)}{_called(_special(cause, cause.difference_ns)[:1])}."
    if cause.only_counted:
        return f"{words}."
    return f"{words}; {seen_in(cause, pairing)} do not show in which function."


def _opposed(cause: CauseResult) -> list[RoleResult]:
    """Return the roles that differ clearly if some spend more and some less, as where the kernel's
    threads do a server's work; the largest difference first. Else none.
    """
    clear = [each for each in cause.roles if each.clear]
    signs = {each.difference_ns > 0 for each in clear}
    found = sorted(clear, key=lambda each: -abs(each.difference_ns))
    return found if len(signs) > 1 else []


def _of_role(cause: CauseResult, role: RoleResult) -> str:
    more = "more" if role.difference_ns > 0 else "less"
    words = f"the {role_title(role.role)} {_size(role.difference_ns, role.ci_ns)} {more}"
    found = _special(cause, role.difference_ns)[:1]
    least = _MOST * abs(role.difference_ns)
    named = [
        f", {'most' if abs(each.difference_ns) > least else 'part'} of it in {each.name} "
        f"({each.module})"
        for each in found
    ]
    return f"{words}{''.join(named)}{_called(found)}"


def _called(found: Sequence[FrameResult]) -> str:
    return "".join(f", called by {listed(each.callers)}" for each in found if each.callers)


def culprits(cause: CauseResult) -> Sequence[FrameResult]:
    """Return the most special function among those that have nearly the largest difference with
    what they call; where none is clear, those with the largest on their own.
    """
    own = [each for each in _likely(cause, cause.difference_ns) if each.own]
    return _special(cause, cause.difference_ns)[:1] or own[:_NAMED]


def _special(cause: CauseResult, whole_ns: float) -> list[FrameResult]:
    """Return the functions with nearly the largest part of a difference with what they call,
    without those that have nearly all time; the most special one first.

    A function that has far more than the whole difference got callees from another, as a filter in
    front of the one that writes: it explains no more than its callers do.
    """

    def seen(each: FrameResult) -> float:
        return each.baseline_ns + each.variant_ns

    all_ns = cause.baseline_ns + cause.variant_ns
    most = abs(whole_ns) / _NEARLY
    found = [
        each
        for each in _likely(cause, whole_ns)
        if not each.own and seen(each) < _ALL * all_ns and abs(each.difference_ns) <= most
    ]
    least = _NEARLY * max((abs(each.difference_ns) for each in found), default=0)
    return sorted((each for each in found if abs(each.difference_ns) >= least), key=seen)


def _likely(cause: CauseResult, whole_ns: float) -> list[FrameResult]:
    """Return the functions whose difference is clear, has the whole one's sign and is a good part
    of it, without those of looking itself.
    """
    sign, least = (1 if whole_ns > 0 else -1), _PART * abs(whole_ns)
    return [
        each
        for each in cause.frames
        if each.clear and each.difference_ns * sign > least and not _OF_LOOKING.match(each.name)
    ]


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
