"""Profiles of processes beside a load: the `profile` event of docs/FORMAT.md."""

from typing import Literal

from tare.model.base import Record

PROFILES, PACKED = "profiles", ".json.zst"
"""The folder of a run that has them, and how the files in it end: `TRIAL.json.zst`."""


class Frame(Record):
    """A function: its name, or its address where the file has no symbols."""

    name: str
    module: str
    kind: Literal["user", "kernel", "unnamed", "cut"]


class Sample(Record):
    """A stack, and how often it was seen on a CPU."""

    stack: list[int]
    """Numbers of frames, the root first."""
    count: int


class Wait(Record):
    """A stack, and how long tasks were off the CPUs with it."""

    stack: list[int]
    ns: int
    count: int
    why: Literal["blocked", "preempted", "queued"]


class Seen(Record):
    """The samples, waits and counts of one role."""

    samples: list[Sample] = []
    waits: list[Wait] = []
    counts: dict[str, int] = {}
    """System calls and other events by name."""


class Profile(Record):
    """All roles over one window."""

    schema_version: Literal[1] = 1
    period_ns: int
    """CPU time that a sample stands for; 0 without samples."""
    window_ns: int
    frames: list[Frame]
    roles: dict[str, Seen]
    lost: int = 0
    """Samples that found no room."""
    lacking: list[str] = []
    """Events that this kernel does not offer."""


class Explained(Record):
    """The window of a trial or duel in which its sides were looked at; stored in profiles/. A trial
    has one side, called `variant`.
    """

    requests: dict[str, float]
    """Side → requests that it answered while it was looked at: those of the instrument's window,
    scaled to `window_ns`.
    """
    profile: Profile
    """Its roles are called `SIDE/ROLE`; in a trial `variant/kernel` has the kernel's threads."""
    only_counted: str = ""
    """The reason why there are counts of /proc only; empty if the profiler looked."""
