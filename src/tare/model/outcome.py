"""Outcomes: measured quantities with a direction."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator

from tare.model.analysis import Slope
from tare.model.base import Record
from tare.model.paths import Path, parse

SLOPE = f"analysis.{Slope.finds}"
"""The path of what the analysis `slope` finds."""


class Outcome(Record):
    """A measured quantity with a direction.

    `value` (and `per`, to divide by) is a path, or a sum of them (`a + b`): instrument.NAME,
    load.NAME, error.KIND or error.all, target.TARGET.NAME, role.ROLE.PROBE, counter.NAME,
    probe.NAME, or analysis.NAME, which there is only in studies of that analysis. A target
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
        """Return true if it is compared by differences of slopes, and not by ratios."""
        return self.value == SLOPE


OutcomeKey = Annotated[str, StringConstraints(pattern=r"^[a-z]([a-z0-9_]|\{\})*$")]
"""An outcome's name, or that of a family, with `{}` in it."""


class OutcomeFamily(Outcome):
    """Outcomes that differ in one word: `{}` stands for it in their name, value and title."""

    each: dict[str, str] = Field(min_length=1)
    """The word in names and values → the word in titles."""


def expanded(outcomes: Any) -> Any:
    """Return an `outcomes` table as manifests write it, with families as single outcomes."""
    if not isinstance(outcomes, Mapping):
        return outcomes
    found: dict[str, Any] = {}
    for name, table in outcomes.items():
        for word, title in _words(name, table).items():
            found[name.replace("{}", word)] = _one(table, word, title)
    return found


def expanded_names(names: Any, outcomes: Any) -> Any:
    """Return a list of outcomes' names with those of families in the place of `{}`."""
    if not isinstance(names, list) or not isinstance(outcomes, Mapping):
        return names
    return [
        name.replace("{}", word) if isinstance(name, str) else name
        for name in names
        for word in _words(name, outcomes.get(name))
    ]


def _words(name: Any, table: Any) -> Mapping[str, str]:
    each = table.get("each") if isinstance(table, Mapping) else None
    return each if isinstance(each, Mapping) and "{}" in str(name) else {"{}": "{}"}


def _one(table: Any, word: str, title: str) -> Any:
    if word == "{}":
        return table
    rest = {key: item for key, item in table.items() if key != "each"}
    words = {"title": title}
    return {
        key: item.replace("{}", words.get(key, word)) if isinstance(item, str) else item
        for key, item in rest.items()
    }
