"""Differences between two runs of an experiment."""

from typing import Literal

from tare.model.base import Record

Trend = Literal["worse", "better", "equivalent", "unresolved"]


class Changed(Record):
    """One judged outcome of one variant: its effect against the baseline of each run."""

    scenario: str
    variant: str
    outcome: str
    better: Literal["lower", "higher"]
    before_pct: float
    before_ci_pct: tuple[float, float] | None
    after_pct: float
    after_ci_pct: tuple[float, float] | None
    change_pct: float
    change_ci_pct: tuple[float, float] | None
    trend: Trend
    why: str
    worse_by_pct: float
    """By how much it surely got worse, be it within the margin of equivalence; 0 unless it did."""


class ChangedSlope(Record):
    """One slope of one variant: how far it is from that of each run's baseline, in its unit."""

    scenario: str
    variant: str
    outcome: str
    unit: str
    better: Literal["lower", "higher"]
    before: float
    before_ci: tuple[float, float] | None
    after: float
    after_ci: tuple[float, float] | None
    change_pct: float | None
    """Of the variant's own slope before; None where that was 0."""
    trend: Trend
    why: str
    worse_by_pct: float
    """By how much it surely got worse, be it within the margin of equivalence; 0 unless it did."""


class LostOutcome(Record):
    """A judged outcome, or a slope, that a variant had an effect of before and has none now."""

    scenario: str
    variant: str
    outcome: str


class RunComparison(Record):
    """Two runs: what differs between them beside the results, and how the effects changed."""

    experiment: str
    before: str
    after: str
    alarms: list[str] = []
    """Each outcome in which a run's A/A control differs from its baseline: then nothing of that run
    is to be believed."""
    unfinished: list[str] = []
    """Those of the two runs that did not come to their end."""
    differences: list[str]
    """What the two runs do not have in common, in words."""
    refused: list[str] = []
    """Scenarios of one name that were made with other parameters, with which."""
    lost: list[str]
    """What was measured before and not after, with the reason."""
    outcomes_lost: list[LostOutcome] = []
    """Of variants that were measured in both."""
    changes: list[Changed]
    slopes: list[ChangedSlope] = []
