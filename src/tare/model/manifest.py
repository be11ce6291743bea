"""The content of manifests: experiment.toml, variant.toml and component.toml.

Every manifest is read by `tare.lab.project.catalog`; this file only defines what is allowed in one.
Strings marked *template* are Jinja2 and may use the names of docs/FORMAT.md, "Manifests".
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from tare.model.base import Record
from tare.model.exports import Image
from tare.model.fields import Idle, Key, Name, Pattern, Priority, Requirement, Scalar
from tare.model.gates import checked_gates
from tare.model.outcome import Outcome
from tare.model.part import Part
from tare.model.role import Instrument, Role, is_instrument


class Build(Record):
    """A build: argv runs in its own folder, and TARE_OUT names the folder to install to."""

    argv: list[str] = Field(min_length=1)
    inputs: list[str] = []
    """Files or folders beyond its own that the output depends on, relative to the project;
    `Cargo.lock#PACKAGE` is what that package takes of it."""
    outputs: list[str] = Field(min_length=1)
    about_s: int = Field(default=10, ge=1)
    """Seconds that it took on two CPUs, for an estimate of the time left."""


class VariantBuild(Build):
    """The build of a variant's own part."""

    components: list[Name] = []
    """Those of the variant's components whose output the build reads; it is built anew when one of
    them changes, and not for those that are used only when the variant runs."""


class Version(Record):
    """The source of a version: a program to run (templates), and a pattern with one group."""

    argv: list[str] = Field(min_length=1)
    pattern: Pattern
    expect: str | None = None

    @model_validator(mode="after")
    def _one_group(self) -> "Version":
        if re.compile(self.pattern).groups != 1:
            raise ValueError("a pattern with one group, the version")
        return self


class LevelRule(Record):
    """A rule for some levels of a variant: it is unsupported there, or needs more."""

    when: str = Field(min_length=1)
    """An expression over the parameters, `study` and `properties`."""
    unsupported: str | None = Field(default=None, min_length=1)
    """Why the variant cannot be measured there, in words."""
    requires: list[Requirement] = []
    components: list[Name] = []
    """Installed and built when a run has such a level."""

    @model_validator(mode="after")
    def _one_use(self) -> "LevelRule":
        if bool(self.unsupported) == bool(self.requires or self.components):
            raise ValueError("either unsupported, or requires and components")
        return self


class Taken(Record):
    """The use of a variable of the environment: the value of a parameter, or the file of a part."""

    parameter: Key | None = None
    part: Key | None = None

    @model_validator(mode="after")
    def _one_use(self) -> "Taken":
        if (self.parameter is None) == (self.part is None):
            raise ValueError("either parameter or part")
        return self


class Variant(Record):
    """One way of doing the job: variant.toml over the experiment's `[variants]`."""

    schema_: Literal[1] = Field(alias="schema")
    title: str
    summary: str = ""
    hidden: bool = False
    """Neither listed nor measured unless it is named: it is there to test the experiment."""
    extended: bool = False
    """Listed, and measured only where it is named."""
    requires: list[Requirement] = []
    components: list[Name] = []
    from_: Name | None = Field(default=None, alias="from")
    """The variant that this is a copy of: templates know it by that name."""
    baseline: Name | None = None
    """The variant that this one is compared with, where that is not the study's: the same server
    from the same build, without what this variant adds."""
    levels: list[LevelRule] = []
    """What holds at some levels only; the experiment's rules come before the variant's own."""
    build: VariantBuild | None = None
    version: Version
    ports: list[Key] = []
    roles: dict[Key, Role]
    instrument: Instrument
    properties: dict[Key, Scalar] = {}
    """What templates and hooks of the experiment want to know about the variant."""
    differences: dict[Key, dict[str, dict[Name, str]]] = {}
    """Factor → setting → level → what it is there, in words: all that a level's name stands for,
    where variants have each their own way of being at that level."""
    together: str = ""
    """Why its roles cannot be on hosts of their own, as a sentence; a template over the parameters,
    which may come to nothing."""
    try_lines: list[str] = []
    """Lines (templates) that `tare up` prints, to try the running variant by hand."""
    parts: dict[Key, Part] = {}
    """Files that an option of their name exchanges for the user's own."""
    environment: dict[str, Taken] = {}
    """Variables that `tare up` takes from its own environment; `tare run` takes none."""

    @model_validator(mode="after")
    def _built_from_its_own(self) -> "Variant":
        used = self.build.components if self.build else []
        if strange := sorted({*used} - {*self.components}):
            raise ValueError(f"build.components: some of its components, and not {strange[0]!r}")
        return self

    @field_validator("roles")
    @classmethod
    def _roles(cls, roles: dict[str, Role]) -> dict[str, Role]:
        if taken := next(filter(is_instrument, roles), None):
            raise ValueError(f"roles other than {taken!r}, which is the instrument's")
        return roles


class Counters(Record):
    """The kinds of the counters that hooks read, as `tare stats` and `tare watch` show them."""

    requests: list[Key] = ["requests"]
    """Those that together are the variant's requests, as far as it has them."""
    gauges: list[str] = []
    """Amounts, marks and flags, which have no rate; names or shell patterns of them."""

    def answered(self, per_second: Mapping[str, float]) -> float | None:
        """Return the rate of requests; None if none of them is counted."""
        known = [per_second[name] for name in self.requests if name in per_second]
        return sum(known) if known else None

    def is_gauge(self, name: str) -> bool:
        """Return true for a counter that has no rate."""
        return any(fnmatchcase(name, pattern) for pattern in self.gauges)


class Experiment(Record):
    """A subject: roles, components, variants and their baseline. Studies are questions about it."""

    schema_: Literal[1] = Field(alias="schema")
    title: str
    question: str
    baseline: Name
    studies: list[Name] = Field(min_length=1)
    """The studies of `tare run EXPERIMENT`, in order; there may be others."""
    parameters: dict[Key, Any] = {}
    """What all studies have; each may set others, and have more."""
    variants: dict[str, Any] = {}
    """What all variants have in common; each variant.toml is merged over it."""
    outcomes: dict[Key, Outcome] = {}
    """Outcomes that several studies name."""
    margin_pct: float = Field(default=2.0, gt=0)
    """The margin of equivalence."""
    priority: Priority = "high"
    """`normal` where the kernel's own threads do a part of the work, which roles would starve."""
    idle: Idle = "poll"
    """`sleep` where waking sleeping CPUs is part of the question; a template."""
    gates: dict[Key, Any] = {}
    """What differs from the defaults of `Gates`; strings may be templates over the parameters."""
    counters: Counters = Counters()
    """The kinds of the counters that hooks read."""
    hook_timeout_s: float = Field(default=120.0, gt=0)
    """The longest that a hook may take."""
    overhead_s: float = Field(default=0.3, ge=0)
    """Of a trial beside warm-up and measuring, about; announced until there are runs of its own."""
    image: dict[str, Any] = {}
    """What all images have in common; each of `images` is merged over it."""
    images: dict[Name, Image] = {}
    """Container images of what the experiment measures, for use elsewhere."""

    @field_validator("gates")
    @classmethod
    def _gates(cls, gates: dict[str, Any]) -> dict[str, Any]:
        checked_gates(gates)
        return gates


class Component(Record):
    """A part from which variants of several experiments are built."""

    schema_: Literal[1] = Field(alias="schema")
    title: str
    requires: list[Requirement] = []
    components: list[Name] = []
    build: Build
    version: Version
