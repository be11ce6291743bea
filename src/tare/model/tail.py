"""The time of the slowest requests by cause: the `tail` event of docs/FORMAT.md."""

from typing import Literal

from tare.model.base import Record

TAILS = "tails"
"""The folder of a run that has them, in files `TRIAL.json`."""
SLOWEST = 0.01
"""The share of requests that are the slowest in a duel: those beyond p99."""

Cause = Literal[
    "generator", "no_connection", "connecting", "resent", "sending", "other_request",
    "housekeeping", "own", "shared", "run_queue", "run_queue_own", "idle", "stolen", "softirq",
    "held", "lock", "disk", "sleep", "page", "backend", "asleep", "call", "returning", "unseen",
]  # fmt: skip


class Part(Record):
    """The time of one cause, in nanoseconds of a request, on average."""

    cause: Cause
    who: str = ""
    """The program, or the system call, that it is about."""
    slow_ns: float
    ordinary_ns: float


class Tail(Record):
    """The slowest requests beside as many ordinary ones, those around the median."""

    schema_version: Literal[1] = 1
    requests: int
    """Of either kind."""
    of: int
    """All that were looked at."""
    later: int = 0
    """Those that were due in the observed time and answered after it; they are not looked at."""
    from_ns: int
    """The latency of the fastest of the slowest."""
    slow_ns: float
    """Their mean latency."""
    ordinary_ns: float
    parts: list[Part]
    """The largest difference first; they add up to the latencies."""
    lost: int
    """Events that found no room, without which parts are wrong."""


class SideTail(Record):
    """The window of one side of a duel, alone under its load."""

    p99_ns: float | None
    """By the load generator's clock; None of too few requests."""
    tail: Tail


class Tails(Record):
    """The windows of both sides of a duel, which do not count; stored in tails/."""

    sides: dict[Literal["baseline", "variant"], SideTail]
