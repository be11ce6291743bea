"""A study: one question about an experiment, from studies/<study>.toml."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from tare.model.analysis import Analysis, Compare, Slope
from tare.model.base import Record
from tare.model.exports import GoogleBenchmark
from tare.model.fields import Key, Name, Scalar, Selection
from tare.model.gates import checked_gates
from tare.model.outcome import (
    Outcome,
    OutcomeFamily,
    OutcomeKey,
    expanded,
    expanded_names,
)
from tare.model.role import GENERATORS, Instrument


class Factor(Record):
    """A dimension and its levels; a level sets parameters. The first level is the default.

    Levels are listed by name, or follow from one parameter's values.
    """

    about: str = ""
    levels: dict[Name, dict[Key, Any]] = {}
    parameter: Key | None = None
    """The parameter that `values` are of."""
    values: list[Scalar] = []

    @model_validator(mode="before")
    @classmethod
    def _levels_of_values(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and data.get("parameter") and not data.get("levels"):
            name, values = data["parameter"], data.get("values") or []
            return {**data, "levels": {str(value): {name: value} for value in values}}
        return data

    @model_validator(mode="after")
    def _some_levels(self) -> "Factor":
        if not self.levels:
            raise ValueError("levels, or a parameter and its values")
        if bool(self.values) != bool(self.parameter):
            raise ValueError("parameter and values together")
        return self


class Blocks(Record):
    """The number of blocks: from `min` to `max`, until every awaited interval is narrow enough."""

    min: int = Field(default=8, ge=1)
    max: int = Field(default=40, ge=1)
    target_half_width_pct: float = Field(default=1.0, gt=0)


Pairing = Literal["trials", "slices"]
"""How a variant and its baseline are brought together: one trial after the other, or both alive at
once and loaded in turns of milliseconds, which is a duel."""


class Slices(Record):
    """The turns of a duel."""

    length_ms: float = Field(default=2.0, gt=0)
    """Of a turn, without the time in which the requests in flight are awaited."""
    lead_in_ms: float = Field(default=0.0, ge=0)
    """At its beginning, of which no request is measured."""
    gap_us: float = Field(default=100.0, gt=0)
    """Longest time that the generator may be away from its sockets, or the round is dropped."""


class Calibrates(Record):
    """A known effect of a study's variant, by which `tare calibrate` checks the machine."""

    outcome: OutcomeKey
    """The judged outcome whose effect is known."""
    otherwise: OutcomeKey | None = None
    """The judged outcome with the same effect, for machines that cannot measure the first."""
    truth: OutcomeKey
    """The outcome that says, of the variant, how large the effect is, in percent."""

    @property
    def outcomes(self) -> list[str]:
        """The outcomes with the known effect, the best one first."""
        return [self.outcome, *([self.otherwise] if self.otherwise else [])]


class Quick(Record):
    """The changes that `--quick` makes."""

    parameters: dict[Key, Any] = {}
    scenarios: list[Selection] = []
    variants: list[Name] = []
    blocks: int = Field(default=8, ge=1)


class Study(Record):
    """One question: factors, scenarios, workload, outcomes, analysis, gates, blocks."""

    schema_: Literal[1] = Field(alias="schema")
    title: str
    question: str
    baseline: Name = ""
    """Without it, the experiment's."""
    parameters: dict[Key, Any] = {}
    """Over the experiment's; options of the command line reach the parameters of both alone."""
    factors: dict[Key, Factor] = {}
    exclude: str = ""
    """Combinations of levels that do not exist: an expression over the parameters."""
    scenarios: list[Selection] = [{}]
    extended: list[Selection] = []
    """Scenarios that `--scenarios all` measures beside `scenarios`."""
    instrument: Instrument | None = None
    """Instead of the experiment's."""
    judged: list[OutcomeKey] = []
    """Outcomes that get a verdict."""
    awaited: list[OutcomeKey] | None = None
    """Judged outcomes whose intervals must be narrow before a run ends; without it, all judged."""
    shown: list[OutcomeKey] = []
    """Outcomes that are reported and get no verdict."""
    overview: list[OutcomeKey] = []
    """Outcomes that each scenario shows side by side before the tables of single ones."""
    outcomes: dict[OutcomeKey, OutcomeFamily | Outcome] = {}
    """Outcomes that only this study has; the experiment defines the others."""
    analysis: Analysis = Compare()
    unrepeatable: str = ""
    """The reason why a trial cannot measure its window a second time, as `--why` would; empty if it
    can.
    """
    margin_pct: float | None = Field(default=None, gt=0)
    """The margin of equivalence; without it, the experiment's."""
    gates: dict[Key, Any] = {}
    """Over the experiment's."""
    pairing: Pairing = "trials"
    slices: Slices = Slices()
    """The turns, with pairing = "slices"."""
    blocks: Blocks = Blocks()
    calibrates: Calibrates | None = None
    """Of the study that `tare calibrate` runs."""
    quick: Quick | None = None
    """Without it the study takes no part in `tare run EXPERIMENT --quick`."""
    google_benchmark: GoogleBenchmark | None = None

    @model_validator(mode="before")
    @classmethod
    def _families(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        outcomes = data.get("outcomes", {})
        lists = {
            key: data[key] for key in ("judged", "awaited", "shown", "overview") if key in data
        }
        named = {key: expanded_names(names, outcomes) for key, names in lists.items()}
        return {**data, **named, "outcomes": expanded(outcomes)}

    @model_validator(mode="after")
    def _outcomes_once(self) -> "Study":
        names = self.reported
        if not names:
            raise ValueError("judged or shown outcomes: what the study is about")
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise ValueError(f"each outcome once in judged and shown, and {twice[0]} not twice")
        checked_gates(self.gates)
        known = self.calibrates
        if known and not ({*known.outcomes} <= {*self.judged} and known.truth in names):
            raise ValueError(
                "calibrates.outcome and calibrates.otherwise among the judged, and "
                "calibrates.truth reported"
            )
        if self.pairing == "slices" and not isinstance(self.analysis, Compare):
            raise ValueError(
                f"pairing = 'trials' with an analysis that takes several windows, as "
                f"{self.analysis.kind!r} does"
            )
        return self

    @property
    def reported(self) -> list[str]:
        """The outcomes that get tables, judged ones first."""
        return [*self.judged, *self.shown]

    @property
    def settable(self) -> dict[str, Any]:
        """The parameters that levels and options may set: its own, and how many generators there
        are, which nothing needs to declare.
        """
        return {**self.parameters, GENERATORS: self.parameters.get(GENERATORS, 1)}

    def named(self) -> list[str]:
        """Return the reported outcomes, and the one that an analysis looks at."""
        response = self.analysis.outcome if isinstance(self.analysis, Slope) else None
        return list(dict.fromkeys([*self.reported, *([response] if response else [])]))

    def chosen(self, known: Mapping[str, Outcome]) -> dict[str, Outcome]:
        """Return the named outcomes; `known` are the experiment's.

        Raises KeyError for a name that neither defines.
        """
        defined = {**known, **self.outcomes}
        return {name: defined[name] for name in self.named()}
