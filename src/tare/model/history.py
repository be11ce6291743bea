"""Effects from run to run: `tare history --json`."""

from typing import Literal

from tare.model.base import Record
from tare.model.results import Verdict


class StoredRun(Record):
    """A run, and what it was made of."""

    run: str
    experiment: str
    study: str
    complete: bool
    trials_valid: int
    fingerprint: str | None
    kernel: str | None


class Point(Record):
    """An effect in one run, against that run's own baseline."""

    run: str
    value: float
    ci: tuple[float, float] | None
    verdict: Verdict | None
    left_out: str | None
    """The reason why change points are looked for without it."""
    differences: list[str]
    """Differences to the run before, of the machine and of what was measured, in words."""


class Level(Record):
    """The runs between two change points."""

    runs: int
    median: float
    low: float
    """The least of them."""
    high: float


class Change(Record):
    """A change point: the effects from this run on are not those before."""

    run: str
    """The first run after it."""
    before: Level
    after: Level
    p: float
    """The share of random orders of the same effects with a change at least as large."""
    trend: Literal["worse", "better", "changed"]
    """`changed` of effects that vary more or less than before, about the same middle."""
    differences: list[str]
    """Other differences between the run before it and this one, in words."""


class Series(Record):
    """One variant's effect on one judged outcome, run by run; oldest first."""

    study: str
    scenario: str
    scenario_title: str
    """The levels in which the study's scenarios differ; empty where there is one."""
    variant: str
    against: str
    outcome: str
    title: str
    unit: str
    """`%` of the baseline, or of a slope its own unit, of which the baseline's is taken off."""
    better: Literal["lower", "higher"]
    points: list[Point]
    changes: list[Change]


class History(Record):
    """Stored runs, and the series that they are of."""

    runs: list[StoredRun]
    series: list[Series]
    level: float
    """The probability at which a change point is found in a series that has none."""
    fewest: int
    """Runs of a series from which on a change can be found."""
