"""What a manifest may say: experiment.toml, variant.toml and component.toml.

Every manifest is read by `tare.lab.project.catalog`; this file only says what is allowed in one.
Strings marked *template* are Jinja2 and may use the names of docs/FORMAT.md, "Manifests".
"""

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from tare.model.analysis import Analysis
from tare.model.base import Record
from tare.model.exports import GoogleBenchmark, Image
from tare.model.fields import (
    Cpus,
    Idle,
    Key,
    Name,
    Netns,
    Pattern,
    Priority,
    Requirement,
    Scalar,
    Selection,
)
from tare.model.gates import checked_gates
from tare.model.outcome import Outcome

INSTRUMENT_ROLE = "load"
"""The name under which the instrument runs as a role."""


class Build(Record):
    """How a thing is built: argv runs in its own folder, with TARE_OUT naming where to install."""

    argv: list[str] = Field(min_length=1)
    inputs: list[str] = []
    """Files or folders beyond its own that the output depends on, relative to the project;
    `Cargo.lock#PACKAGE` is what that package takes of it."""
    outputs: list[str] = Field(min_length=1)


class VariantBuild(Build):
    """How a variant's own part is built."""

    components: list[Name] = []
    """Those of the variant's components whose output the build reads; it is built anew when one of
    them changes, and not for those that are used only when the variant runs."""


class Version(Record):
    """How the version is read: a program to ask (templates), and a pattern with one group."""

    argv: list[str] = Field(min_length=1)
    pattern: Pattern
    expect: str | None = None

    @model_validator(mode="after")
    def _one_group(self) -> "Version":
        if re.compile(self.pattern).groups != 1:
            raise ValueError("a pattern with one group, the version")
        return self


class Ready(Record):
    """What says that a role is ready: ports that all accept, a file, or a line in its log."""

    tcp: list[str] = []
    path: str | None = None
    log: Pattern | None = None
    timeout_s: float = Field(default=10.0, gt=0)

    @model_validator(mode="after")
    def _one_kind(self) -> "Ready":
        if sum(bool(kind) for kind in (self.tcp, self.path, self.log)) != 1:
            raise ValueError("exactly one of tcp, path, log")
        return self


class Limits(Record):
    """The most that a role may have, imposed by its control group; templates. 0: no limit."""

    cpus: float | str | None = None
    """CPU seconds a second."""
    memory_mb: float | str | None = None
    """Of 1024 × 1024 bytes, swap included."""
    read_mb_per_s: float | str | None = None
    """Of 1024 × 1024 bytes, from the disk that the role's folder is on."""


class Role(Record):
    """A part that runs as a process of its own. Without argv the variant has no such role."""

    argv: list[str] = []
    files: dict[str, str] = {}
    """File in the role's folder → template, sought in the variant, then the experiment.

    Both names are templates themselves."""
    env: dict[str, str] = {}
    cpus: Cpus = "server"
    netns: Netns = "laboratory"
    limits: Limits = Limits()
    ready: Ready | None = None
    stop_signal: Literal["TERM", "QUIT", "INT"] = "TERM"
    stop_timeout_s: float = Field(default=5.0, gt=0)


class Instrument(Record):
    """The program that measures: `argv --spec FILE`, speaking the instrument protocol."""

    argv: list[str] = Field(min_length=1)
    spec: dict[str, Any]
    cpus: Cpus = "client"


class Need(Record):
    """What only some levels take: where it is not to be had, the variant cannot take those."""

    within: dict[Key, list[str]]
    """Factor → levels."""
    requires: list[Requirement] = []
    components: list[Name] = []


class Variant(Record):
    """One way of doing the job: variant.toml over the experiment's `[variants]`."""

    schema_: Literal[1] = Field(alias="schema")
    title: str
    summary: str = ""
    hidden: bool = False
    """Neither listed nor measured unless it is named: it is there to test the experiment."""
    requires: list[Requirement] = []
    components: list[Name] = []
    needs: list[Need] = []
    """Requirements and components of single levels, met when a run has such a level."""
    build: VariantBuild | None = None
    version: Version
    ports: list[Key] = []
    roles: dict[Key, Role]
    instrument: Instrument
    instruments: dict[Key, Instrument] = {}
    """Others than `instrument`, by name: the parameter `instrument` chooses one."""
    supports: dict[Key, list[str]] = {}
    """Factor → the levels this variant can take; a factor not named: all of them."""
    without: dict[Key, dict[Name, str]] = {}
    """Factor → level → why this variant cannot take it, in words."""
    excludes: list[Selection] = []
    """Levels that do not go together for this variant, whatever it supports of each."""
    properties: dict[Key, Scalar] = {}
    """What templates and hooks of the experiment want to know about the variant."""
    differences: dict[Key, dict[str, dict[Name, str]]] = {}
    """Factor → setting → level → what it is there, in words: all that a level's name stands for,
    where variants have each their own way of being at that level."""
    try_lines: list[str] = []
    """Lines (templates) that `tare up` prints, to try the running variant by hand."""

    @model_validator(mode="after")
    def _built_from_its_own(self) -> "Variant":
        used = self.build.components if self.build else []
        if strange := sorted({*used} - {*self.components}):
            raise ValueError(f"build.components: some of its components, and not {strange[0]!r}")
        return self

    @field_validator("roles")
    @classmethod
    def _roles(cls, roles: dict[str, Role]) -> dict[str, Role]:
        if INSTRUMENT_ROLE in roles:
            raise ValueError(f"roles other than {INSTRUMENT_ROLE!r}, which is the instrument's")
        return roles


class Factor(Record):
    """A dimension and its levels; a level sets parameters. The first level is the default."""

    about: str = ""
    levels: dict[Name, dict[Key, Any]] = Field(min_length=1)


class Blocks(Record):
    """How many blocks: from `min` until every judged interval is narrow enough, at most `max`."""

    min: int = Field(default=8, ge=1)
    max: int = Field(default=40, ge=1)
    target_half_width_pct: float = Field(default=1.0, gt=0)


class Quick(Record):
    """What `--quick` changes."""

    parameters: dict[Key, Any] = {}
    scenarios: list[Selection] = []
    variants: list[Name] = []
    blocks: int = Field(default=8, ge=1)


class Experiment(Record):
    """A question with a baseline, variants, factors, workload, outcomes and an oracle."""

    schema_: Literal[1] = Field(alias="schema")
    title: str
    question: str
    baseline: Name
    parameters: dict[Key, Any]
    variants: dict[str, Any] = {}
    """What all variants have in common; each variant.toml is merged over it."""
    factors: dict[Key, Factor] = {}
    scenarios: list[Selection] = [{}]
    more: list[Selection] = []
    """Scenarios for the patient: what `--scenarios all` measures beside `scenarios`."""
    outcomes: dict[Key, Outcome]
    analysis: Analysis = Analysis()
    overview: list[Key] = []
    """Outcomes that each scenario shows side by side before the tables of single ones."""
    sesoi_pct: float = Field(default=2.0, gt=0)
    priority: Priority = "high"
    """`usual` where the kernel's own threads do a part of the work, which roles would starve."""
    idle: Idle = "poll"
    """`sleep` where waking sleeping CPUs belongs to what is asked; a template."""
    gates: dict[Key, Any] = {}
    """What differs from the defaults of `Gates`; strings may be templates over the parameters."""
    google_benchmark: GoogleBenchmark | None = None
    blocks: Blocks = Blocks()
    quick: Quick = Quick()
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
    """What variants of several experiments are built from."""

    schema_: Literal[1] = Field(alias="schema")
    title: str
    requires: list[Requirement] = []
    components: list[Name] = []
    build: Build
    version: Version
