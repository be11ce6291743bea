"""Ways from a trial to its outcomes: one window (compare), or several (capacity, slope)."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from tare.model.base import Record
from tare.model.fields import Key


class Compare(Record):
    """One window, whose outcomes are compared as they are."""

    kind: Literal["compare"] = "compare"
    window: dict[Key, Any] = {}
    """Parameters of each window, over the scenario's."""

    @property
    def windows(self) -> int:
        """Return the number of windows of a trial."""
        return 1


class Capacity(Record):
    """The highest rate of an open loop at which an outcome of the instrument keeps its limit.

    A trial searches it in windows; an outcome's value names it as analysis.capacity_per_second.
    `limit`, `low` and `high` may be templates over the parameters.
    """

    finds: ClassVar = "capacity_per_second"
    kind: Literal["capacity"]
    window: dict[Key, Any] = {}
    """Parameters of each window, over the scenario's."""
    parameter: Key = "rate"
    """The parameter that the search sets."""
    outcome: Key = "latency_p99_us"
    limit: float | str
    low: float | str
    high: float | str
    steps: int = Field(default=8, ge=1, le=20)
    """Halvings of the range, on a logarithmic scale."""

    @property
    def windows(self) -> int:
        """Return about how many windows a search takes (tests/unit/stats/test_search.py)."""
        return 2 * self.steps


class Slope(Record):
    """The growth of an outcome with each unit of a dose that the instrument gives.

    A trial measures it in `rounds`, in each of which every dose has one window, in random order.
    An outcome's value names it as analysis.slope.
    """

    finds: ClassVar = "slope"
    kind: Literal["slope"]
    window: dict[Key, Any] = {}
    """Parameters of each window, over the scenario's."""
    parameter: Key
    """The parameter that is set to each dose."""
    doses: list[int | float] | str
    """From the lowest to the highest, or a template of such a list."""
    rounds: int = Field(default=4, ge=1)
    outcome: Key
    """The outcome that responds."""

    @field_validator("doses")
    @classmethod
    def _doses(cls, doses: list[int | float] | str) -> list[int | float] | str:
        return doses if isinstance(doses, str) else ascending(doses)

    @property
    def windows(self) -> int:
        """Return the number of windows of a trial; about, where the doses are a template."""
        return self.rounds * (3 if isinstance(self.doses, str) else len(self.doses))


def ascending(doses: list[int | float]) -> list[int | float]:
    """Return the doses as they are. Raises ValueError unless they rise."""
    if len(doses) < 2 or sorted(set(doses)) != doses:
        raise ValueError("doses from the lowest to the highest, each once")
    return doses


FINDS = (Capacity.finds, Slope.finds)
"""What analyses find, as paths of outcomes call it behind `analysis.`."""

Analysis = Annotated[Compare | Capacity | Slope, Field(discriminator="kind")]
