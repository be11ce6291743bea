"""A long run cut into many studies, and how often these were right."""

from tare.model.base import Record


class Looks(Record):
    """The verdicts of studies that are looked at in one way."""

    costs: int
    saves: int
    equivalent: int
    unresolved: int
    wrong: int
    """Costs or saves that contradict the truth; where nothing differs, all of them."""
    covered: int
    """Intervals that contain the truth, of those with an interval."""
    intervals: int
    half_width_pct: float | None
    """Median, of those with an interval."""
    blocks: float
    """Mean number until a study ended."""


class Series(Record):
    """All studies of one outcome of one scenario."""

    scenario: str
    outcome: str
    title: str
    truth_pct: float
    studies: int
    fixed: Looks
    """Looked at once, at their end."""
    peeking: Looks
    """Looked at after every block, and ended by the first verdict."""
