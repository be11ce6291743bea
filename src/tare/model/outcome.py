"""Outcomes: measured quantities with a direction."""

from typing import Literal

from pydantic import Field, field_validator

from tare.model.analysis import Slope
from tare.model.base import Record
from tare.model.fields import Key
from tare.model.paths import Path, parse

SLOPE = f"analysis.{Slope.finds}"
"""The path of what the analysis `slope` finds."""


class Outcome(Record):
    """A measured quantity with a direction.

    `value` (and `per`, to divide by) is a path, or a sum of them (`a + b`): instrument.NAME,
    load.NAME, error.KIND or error.all, target.TARGET.NAME, role.ROLE.PROBE, counter.NAME,
    probe.NAME, or analysis.NAME, which there is only in the scenarios of that analysis. A target
    that the instrument did not load has no values. A role that a variant does not have adds nothing
    to a sum; alone it is no value.
    """

    title: str
    unit: str
    better: Literal["lower", "higher"]
    value: str
    per: str | None = None
    times: float = Field(default=1.0, gt=0)
    """What the value is multiplied by: 100 for a percentage."""
    judged: bool = False
    stops: bool = True
    """Whether a run goes on until this outcome's intervals are narrow, if it is judged."""
    only: dict[Key, list[str]] = {}
    """Factor → levels in which this outcome is compared; it is reported in all of them."""
    within: dict[Key, list[str]] = {}
    """Factor → levels in which there is such an outcome at all."""

    @field_validator("value", "per")
    @classmethod
    def _paths(cls, text: str | None) -> str | None:
        if text is not None:
            parse(text)
        return text

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths that the value adds up."""
        return parse(self.value)

    @property
    def divisors(self) -> tuple[Path, ...]:
        """The paths that are added up to divide by; none of an outcome that is not divided."""
        return parse(self.per) if self.per is not None else ()

    @property
    def is_slope(self) -> bool:
        """Whether it is compared by differences of slopes, and not by ratios."""
        return self.value == SLOPE
