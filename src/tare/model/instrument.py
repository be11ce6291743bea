"""Instruments' answers: the `result` event of docs/FORMAT.md, "The instrument protocol".

Records are strict, so that "5" is no number. What is not named here, an instrument may add as
tables of its own beside the others, or as counts of its own in `total`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, NonNegativeFloat, NonNegativeInt, model_validator

from tare.model.base import Record

Figures = dict[str, float | None]
"""Outcome → value, None where the sample is too small to name one."""
Counts = dict[str, NonNegativeInt]
ORDINARY_CPU = "ordinary_cpu_us"
"""A role's CPU time if all rounds of its duel had been ordinary ones, as paths call it."""
OF_DUELS = ("ordinary_latency_p99_us", "cpu_elsewhere_share")
"""Outcomes that only sides of a duel have: p99 latency in ordinary rounds, and the share of the CPU
time that was used in the other's slices.
"""

_LOADED = ("requests", "requests_per_second", "latency_mean_us")
"""Outcomes of every instrument with a `load`: gates need them."""
_SCHEDULED = ("latency_p50_us", "latency_p99_us")
"""Further ones of an open loop."""
_OF_OPEN_LOOPS = ("offered", "completed", "send_lag_p50_us", "send_lag_p99_us")
_OF_OTHER_LOOPS = ("cpu_busiest_thread",)
"""Fields of the load by its loop: gates look at them."""


class Answer(Record):
    """The base of what an instrument answers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def stored(self) -> dict[str, Any]:
        """Return what the instrument answered, as JSON has it."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Load(Answer):
    """The load that a generator sent, and whether it kept up."""

    loop: Literal["open", "closed", "serial"]
    arrivals: str | None = None
    rate: NonNegativeFloat | None = None
    connections: NonNegativeInt = 0
    threads: NonNegativeInt = 0
    offered: NonNegativeInt = 0
    completed: NonNegativeInt = 0
    unfinished: NonNegativeInt = 0
    in_flight_mean: NonNegativeFloat
    send_lag_p50_us: float | None = None
    send_lag_p99_us: float | None = None
    send_lag_max_us: float | None = None
    cpu_user_s: NonNegativeFloat = 0.0
    cpu_system_s: NonNegativeFloat = 0.0
    cpu_busiest_thread: NonNegativeFloat = 0.0

    @model_validator(mode="after")
    def _what_gates_need(self) -> Self:
        needed = _OF_OPEN_LOOPS if self.loop == "open" else _OF_OTHER_LOOPS
        if lacking := [name for name in needed if name not in self.model_fields_set]:
            raise ValueError(f"also {', '.join(lacking)} of a loop that is {self.loop}")
        return self

    def figures(self) -> Figures:
        """Return the numbers that the instrument reported."""
        return {name: getattr(self, name) for name in LOAD_FIGURES if name in self.model_fields_set}


LOAD_FIGURES = tuple(name for name in Load.model_fields if name not in ("loop", "arrivals"))
"""The numbers of a load."""


class Reason(Answer):
    """Failures of one kind for one reason."""

    kind: str
    why: str
    count: NonNegativeInt


class Total(Answer):
    """Counts of the whole run, warm-up included; an instrument may add its own."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, NonNegativeInt] = Field(init=False)

    requests: NonNegativeInt = 0
    statuses: Counts = {}
    errors: Counts = {}
    reasons: list[Reason] = []

    @property
    def failed(self) -> int:
        """Errors of all kinds."""
        return sum(self.errors.values())

    @property
    def counts(self) -> Mapping[str, int]:
        """The instrument's own counts."""
        return self.__pydantic_extra__


class Part(Answer):
    """A target's part of some rounds of a duel."""

    requests: NonNegativeInt
    """Correct answers."""
    cpu_us: dict[str, NonNegativeFloat] = {}
    """CPU time of its roles, in both its own slices and the other's."""


class Rounds(Part):
    """A target's part of the rounds of a duel that count."""

    ordinary: Part | None = None
    """Of the ordinary rounds among them: all but the tenth in which all targets together used most
    CPU time per request. None where CPU time was charged too late to know which these are.
    """


class Target(Answer):
    """The answers of one of several targets."""

    name: str
    url: str | None = None
    connections: NonNegativeInt | None = None
    offered: NonNegativeInt
    completed: NonNegativeInt
    unfinished: NonNegativeInt
    answered: NonNegativeInt
    outcomes: Figures
    errors: Counts = {}
    statuses: Counts = {}
    total: Total = Total()
    """Of the whole run."""
    rounds: Rounds | None = None
    """Of a target that has slices of its own."""
    histograms: dict[str, str] = Field(default={}, repr=False)
    """Of a target that has slices of its own."""

    def figures(self) -> Figures:
        """Return its outcomes, and its counts beside them."""
        return {
            **self.outcomes,
            "offered": self.offered,
            "completed": self.completed,
            "unfinished": self.unfinished,
            "answered": self.answered,
        }


class StandardErrors(Answer):
    """The spread of the logarithm of two sides' ratio within their duel, by the means of batches of
    its rounds. What has too few rounds is left out, or None.
    """

    cpu_us: dict[str, NonNegativeFloat] = {}
    """Of CPU time per request, by role."""
    ordinary_cpu_us: dict[str, NonNegativeFloat] = {}
    """Likewise in ordinary rounds."""
    latency_p50_us: NonNegativeFloat | None = None


class Slices(Answer):
    """The slices in which targets took turns, in the window."""

    length_ms: NonNegativeFloat
    lead_in_ms: NonNegativeFloat
    rounds: NonNegativeInt
    """Each has one slice of every target."""
    kept: NonNegativeInt
    """Rounds in which the generator lost no time: latencies and rates are of these alone."""
    share: NonNegativeFloat
    """Of the window in which a slice had the load, and not the wait for its last answers."""
    standard_errors: StandardErrors | None = None


class Tls(Answer):
    """The result of the TLS handshakes: that of the first, and how many differ from it."""

    version: str | None = None
    cipher: str | None = None
    group: str | None = None
    alpn: str | None = None
    full: NonNegativeInt
    resumed: NonNegativeInt
    other: NonNegativeInt


class Condition(Answer):
    """A condition that the run was given, and whether it is met."""

    condition: str
    ok: bool
    found: float | None


class Generators(Answer):
    """Several generators that made one load together."""

    start_spread_s: NonNegativeFloat
    """From the first opening of a window to the last, as the laboratory saw them."""
    overlap_s: NonNegativeFloat
    """From the last opening to the first closing: the time in which all had their windows."""
    each: dict[str, "Result"]
    """Name → its own result."""


_OF_A_SIDE = ("outcomes", "errors", "statuses", "total", "rounds", "histograms")


class Result(Answer):
    """The whole result of one window; an instrument may add tables of its own."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    event: Literal["result"]
    schema_: Literal[1] = Field(alias="schema")
    instrument: str
    protocol: str | None = None
    window_s: NonNegativeFloat
    """0 when the window did not open."""
    outcomes: Figures
    load: Load | None = None
    """None of an instrument that offers no load."""
    errors: Counts = {}
    """Of the window, by kind."""
    statuses: Counts = {}
    total: Total = Total()
    targets: list[Target] = []
    slices: Slices | None = None
    rounds: Rounds | None = None
    """Of one side of a duel."""
    tls: Tls | None = None
    conditions: list[Condition] = []
    times_dropped: NonNegativeInt = 0
    """Answers whose times found no room in the file of times."""
    histograms: dict[str, str] = Field(default={}, repr=False)
    generators: Generators | None = None
    """Those whose results this is made of, if there are several."""

    @model_validator(mode="after")
    def _what_gates_need(self) -> Self:
        if self.load is not None:
            needed = _LOADED + (_SCHEDULED if self.load.loop == "open" else ())
            if lacking := [name for name in needed if name not in self.outcomes]:
                raise ValueError(f"also the outcomes {', '.join(lacking)} of a load")
        return self

    @property
    def requests(self) -> float:
        """Correct answers of the window; 0 of an instrument that makes no requests."""
        return self.outcomes.get("requests") or 0.0

    @property
    def failed(self) -> int:
        """Errors of all kinds."""
        return sum(self.errors.values())

    def stored(self) -> dict[str, Any]:
        """Return what the instrument answered, as JSON has it, without its histograms."""
        found = {key: item for key, item in super().stored().items() if key != "histograms"}
        for target in found.get("targets", []):
            target.pop("histograms", None)
        if self.generators is not None:
            each = {name: own.stored() for name, own in self.generators.each.items()}
            found["generators"] |= {"each": each}
        return found

    def side(self, name: str) -> "Result":
        """Return the result as if the target of that name had been the only one; the load is that
        of all. Raises KeyError.
        """
        target = self.target(name)
        if target is None:
            raise KeyError(name)
        own = {field: getattr(target, field) for field in _OF_A_SIDE}
        return self.model_copy(update={**own, "targets": []})

    def target(self, name: str) -> Target | None:
        """Return the target of that name, or None if it was not loaded."""
        return next((each for each in self.targets if each.name == name), None)


def together(totals: Iterable[Total]) -> Total:
    """Return the totals of several windows as one: numbers and lists add up, tables by name."""
    return Total.model_validate(_added(each.stored() for each in totals))


def _added(tables: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for table in tables:
        for key, item in table.items():
            if isinstance(item, Mapping):
                found[key] = _added([found.get(key, {}), item])
            else:
                found[key] = found[key] + item if key in found else item
    return found
