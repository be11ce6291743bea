"""Plans and trials: what is to be measured, and what was."""

from typing import Any, Literal

from tare.model.base import Record
from tare.model.gates import Kind
from tare.model.manifest import Blocks
from tare.model.outcome import Outcome
from tare.model.scenario import Scenario


class Benchmark(Record):
    """A label's trials in one scenario, as Google Benchmark's JSON presents them."""

    name: str
    label: str
    real_time: str
    """The outcome."""
    cpu_time: str
    counters: dict[str, float] = {}


class Plan(Record):
    """All that decides a run, so that `resume` goes on with the same."""

    schema_version: Literal[1] = 1
    run: str
    experiment: str
    title: str
    question: str
    tare: str
    created: str
    seed: int
    baseline: str
    variants: list[str]
    """The baseline first."""
    scenarios: list[Scenario]
    parameters: dict[str, Any]
    """The experiment's parameters, `--quick` applied, before a scenario's levels."""
    overrides: dict[str, Any]
    """Parameters set on the command line; they win over levels."""
    outcomes: dict[str, Outcome]
    overview: list[str] = []
    benchmarks: dict[str, dict[str, Benchmark]] = {}
    """Scenario → label, where the experiment has names of its own for them."""
    sesoi_pct: float
    blocks: Blocks
    quick: bool


class Slot(Record):
    """One place in the plan: which variant runs, in which scenario, in which block."""

    block: int
    scenario: str
    label: str
    """The variant's name, or `baseline-again`."""
    variant: str
    id: str


class Gate(Record):
    """What one gate found."""

    name: str
    kind: Kind
    """What it judges."""
    ok: bool
    found: str
    wanted: str
    off: str | None = None
    """Why the manifest lets all pass, if it does."""


class Trial(Record):
    """One measurement of one variant in one scenario with fresh processes: a line of trials.jsonl.

    `status`: `valid`; `invalid` (measured, but a gate says it does not count); `failed` (the
    variant did not do its job: it did not start, crashed, or its oracle refused it);
    `unavailable` (a requirement is not met).
    """

    id: str
    block: int
    scenario: str
    label: str
    variant: str
    attempt: int
    status: Literal["valid", "invalid", "failed", "unavailable"]
    reason: str | None = None
    started: str
    wall_s: float
    measured_s: float = 0.0
    version: str | None = None
    gates: list[Gate] = []
    outcomes: dict[str, float | None] = {}
    roles: dict[str, dict[str, float]] = {}
    """Role → probe → value over the measured window."""
    machine: dict[str, float] = {}
    counters: dict[str, int] = {}
    instrument: dict[str, Any] = {}
    """The instrument's result, without its histograms."""


def parse_trials(content: bytes) -> list[Trial]:
    """The trials of a trials.jsonl. Raises ValueError for a damaged line.

    A last line without its end is a trial that a kill cut off while it was stored: dropped.
    """
    whole = content[: content.rfind(b"\n") + 1]
    return [Trial.model_validate_json(line) for line in whole.splitlines()]
