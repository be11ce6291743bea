"""The causes of the slowest requests in sentences and as a table."""

from collections.abc import Mapping

from tare.model.tail import Cause, Part, Tail
from tare.report.layout import Column, Grid
from tare.report.numbers import listed
from tare.stats.rounding import counted, two_digits

NAMED, LEAST = 3, 0.05
"""Causes that a sentence names, and the share of the difference that each has."""
_SMALL = 0.005
"""Of either latency: smaller parts are not shown."""
_WORDS = {
    "generator": "the load generator sent late",
    "no_connection": "no connection was free",
    "connecting": "the connection was being made",
    "resent": "the connection's first packet was dropped and sent again",
    "sending": "the request was on its way to the server",
    "other_request": "the server worked on other requests",
    "housekeeping": "the server worked, but on no request",
    "own": "the server worked on the request",
    "shared": "the server worked on the request or on others of its connection",
    "run_queue": "{} had the server's CPU",
    "run_queue_own": "another thread of the server ({}) had its CPU",
    "idle": "the server could run, but its CPU was idle",
    "stolen": "the hypervisor had taken the server's CPU",
    "softirq": "the server's CPU handled softirqs ({})",
    "held": "the server was held back by its CPU quota",
    "lock": "the server waited for a lock or another thread",
    "disk": "the server waited for a disk",
    "sleep": "the server slept",
    "page": "the server waited for a page of memory",
    "backend": "the server waited for another server",
    "asleep": "the server waited for input or its own threads",
    "call": "the server waited in {}",
    "returning": "the answer was on its way back",
    "unseen": "nothing was seen",
}


def sentences(
    tail: Tail,
    outcomes: Mapping[str, float | None],
    errors: Mapping[str, int] | None = None,
    dropped: int = 0,
) -> list[str]:
    """Return the answer, then how slow the slowest are, and what was lost or failed meanwhile; the
    times of so many answers were dropped.
    """
    found = _answer(tail, outcomes)
    if dropped:
        found.append(
            f"The times of {counted(dropped, 'answer')} found no room, so these are not among the "
            "slowest, however long they took. Take less --duration or --rate."
        )
    if tail.lost:
        found.append(
            f"{tail.lost} events found no room, so parts may be wrong; take less --duration."
        )
    if tail.later and tail.later >= tail.requests:
        found.append(
            f"{counted(tail.later, 'request')} got an answer only after the observed time; they "
            "are not among the slowest. Take less --rate or more --duration."
        )
    kinds = {kind: count for kind, count in (errors or {}).items() if count}
    if kinds:
        told = listed([f"{kind} {count}" for kind, count in kinds.items()])
        found.append(
            f"{counted(sum(kinds.values()), 'request')} failed ({told}); those without an answer "
            "are not among the slowest, however long they took. Take less --rate; tare load "
            "shows the reasons."
        )
    return found


def _answer(tail: Tail, outcomes: Mapping[str, float | None]) -> list[str]:
    if not tail.requests:
        remedy = "" if tail.lost else "; take more --duration or --rate"
        return [f"Too few requests to tell slow ones from others{remedy}."]
    excess = tail.slow_ns - tail.ordinary_ns
    if excess <= 0:
        return ["The slowest requests took no longer than ordinary ones."]
    named = [part for part in tail.parts if _extra(part) >= LEAST * excess][:NAMED]
    # Where slow requests have less of something, what they have more of exceeds the difference.
    more = max(excess, sum(_extra(part) for part in tail.parts if _extra(part) > 0))
    causes = [
        f"for {_extra(part) / more * 100:.0f} % of it {words(part.cause, part.who)}"
        for part in named
    ]
    median = outcomes.get("latency_p50_us")
    return [
        f"The slowest requests exceed ordinary ones by {_time(excess)}"
        + (f": {listed(causes)}." if causes else "; no cause stands out."),
        f"The slowest {tail.requests} of {tail.of} requests took {_time(tail.slow_ns)} on average "
        f"({_time(tail.from_ns)} or more), ordinary ones {_time(tail.ordinary_ns)}"
        + (f"; the median is {_time(1000 * median)}." if median else "."),
    ]


def words(cause: Cause, who: str) -> str:
    """Return a cause, and who or what it is about, as a clause."""
    return _WORDS[cause].format(who)


def grid(tail: Tail) -> Grid:
    """Return the parts of both kinds of requests, the largest difference first."""
    shown = [
        part
        for part in tail.parts
        if part.slow_ns >= _SMALL * tail.slow_ns or part.ordinary_ns >= _SMALL * tail.ordinary_ns
    ]
    return Grid(
        [
            Column([words(part.cause, part.who) for part in shown], "meanwhile"),
            Column([_time(part.slow_ns) for part in shown], "the slowest", right=True),
            Column([_time(part.ordinary_ns) for part in shown], "ordinary", right=True),
        ]
    )


def _extra(part: Part) -> float:
    return part.slow_ns - part.ordinary_ns


def unit_of(ns: float) -> tuple[float, str]:
    """Return the unit in which a time is told: its nanoseconds and its name."""
    units = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
    return next(((size, unit) for size, unit in units if ns >= size), (1.0, "ns"))


def _time(ns: float) -> str:
    scale, unit = unit_of(ns)
    return f"{two_digits(ns / scale)} {unit}"
