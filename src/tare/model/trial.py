"""Plans and trials: what is to be measured, and what was."""

import re
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import ConfigDict, ValidationError

from tare.model.base import Record
from tare.model.gates import Gates, Kind
from tare.model.outcome import Outcome
from tare.model.part import Exchanged
from tare.model.scenario import Scenario
from tare.model.shapes import Instrument
from tare.model.study import Blocks, Pairing

Until = Literal["narrow", "resolved"]
"""When a run has enough blocks: when its intervals are narrow, or when every verdict is there."""

_SIDE = "@"
"""Between the variant and the duel, in the label of a baseline's side."""
_BASE = "base"
CONTROL = "control"
"""The label of the A/A control."""
RANGE = "range"
"""The gate of a search whose answer lies outside its range."""


def side_label(baseline: str, label: str) -> str:
    """Return the label of the baseline's side of the duel called `label`."""
    return f"{baseline}{_SIDE}{label}"


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

    schema_version: Literal[2] = 2
    run: str
    experiment: str
    study: str
    title: str
    question: str
    tare: str
    created: str
    seed: int
    baseline: str
    baselines: dict[str, str] = {}
    """Variant → the variant that it is compared with, where that is not `baseline`."""
    variants: list[str]
    """The baseline first."""
    scenarios: list[Scenario]
    overrides: dict[str, Any]
    """Parameters set on the command line; they won over levels."""
    parts: dict[str, Exchanged] = {}
    """Part → the user's own file in its place."""
    variants_dir: str | None = None
    """The user's folder of further variants."""
    outcomes: dict[str, Outcome]
    judged: list[str]
    """Outcomes that get a verdict."""
    awaited: list[str]
    """Judged outcomes whose intervals decide when there are enough blocks."""
    shown: list[str] = []
    """Outcomes that are reported beside the judged ones."""
    overview: list[str] = []
    benchmarks: dict[str, dict[str, Benchmark]] = {}
    """Scenario → label, where the experiment has names of its own for them."""
    margin_pct: float
    """The margin of equivalence."""
    pairing: Pairing = "trials"
    until: Until = "narrow"
    within_s: float | None = None
    """Seconds of trials after which a run ends, whatever it knows by then."""
    limits: dict[str, float] = {}
    """Awaited outcome → the percentage that it may get worse by; it is resolved when its interval
    lies on one side of that."""
    retries: dict[str, int] = {}
    """Scenario → how often a trial that a gate refuses is repeated."""
    blocks: Blocks
    quick: bool
    why: bool = False
    """Whether each trial or duel has a second window, in which its processes are looked at."""
    tail: bool = False
    """Whether each duel has two more windows, in which either side's slowest requests are looked
    at.
    """
    running: bool = False
    """All blocks measure the same processes, which were started by somebody else."""

    @property
    def reported(self) -> list[str]:
        """The outcomes that get tables, judged ones first."""
        return [*self.judged, *self.shown]

    def attempts_in(self, scenario: str) -> int:
        """Return how many attempts a planned trial of the scenario has that gates refuse."""
        return self.retries.get(scenario, Gates().retries) + 1

    def baseline_of(self, label: str) -> str:
        """The variant that a label is compared with."""
        return self.baselines.get(label, self.baseline)

    def variant_of(self, label: str) -> str:
        """The variant that a planned label measures."""
        return self.baseline if label == CONTROL else label

    def is_cpu_time(self, outcome: str) -> bool:
        """Return true if the outcome is a CPU time of roles in µs for each of something."""
        found = self.outcomes[outcome]
        of_roles = all((path.source, path.name) == ("role", "cpu_us") for path in found.paths)
        return of_roles and bool(found.divisors) and found.unit == "µs"

    def opponent_of(self, label: str) -> str:
        """The label of the trials that a label's are paired with: its baseline's, or in duels those
        of its baseline's side.
        """
        baseline = self.baseline_of(label)
        return side_label(baseline, label) if self.pairing == "slices" else baseline


def clashing(names: Iterable[str]) -> str | None:
    """Return a name that a trial of another of them, or of the A/A control, has, if there is one:
    `new-base` beside `new`, whose duel has a side of that name.
    """
    known = {*names}
    for name in sorted(known):
        other = re.sub(rf"(-{_BASE}|-a\d+)+$", "", name)
        if name == CONTROL or (other != name and other in {*known, CONTROL}):
            return name
    return None


class PlannedTrial(Record):
    """One trial of the plan: its block, its scenario and its variant."""

    block: int
    scenario: str
    label: str
    """The variant's name, or `control`, the A/A control."""
    variant: str
    id: str

    def attempt_id(self, attempt: int) -> str:
        """Return the name of an attempt at it, which no other attempt of the run has."""
        return self.id if attempt == 1 else f"{self.id}-a{attempt}"

    def side(self, baseline: str) -> "PlannedTrial":
        """Return the baseline's side of the duel that is planned."""
        own = {"label": side_label(baseline, self.label), "variant": baseline}
        return self.model_copy(update={**own, "id": f"{self.id}-{_BASE}"})


class Gate(Record):
    """The finding of one gate."""

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

    `status`: `valid`; `invalid` (refused by a gate, or the machine was at fault); `failed` (the
    variant did not do its job: it did not start, crashed, or its oracle refused it);
    `unavailable` (a requirement is not met).
    """

    model_config = ConfigDict(allow_inf_nan=False)

    id: str
    block: int
    scenario: str
    label: str
    """As planned; `BASELINE@LABEL` is the baseline's side of the duel called `LABEL`."""
    variant: str
    attempt: int
    status: Literal["valid", "invalid", "failed", "unavailable"]
    reason: str | None = None
    machine_fault: bool = False
    """The machine was at fault, and not the variant: `resume` makes the trial again."""
    bench: str | None = None
    """Where its block was made, if blocks were dealt to several machines."""
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
    instrument: Instrument = {}
    """The instrument's result, without its histograms."""

    @property
    def shown_as(self) -> str:
        """The label under which tables show it."""
        return self.label.split(_SIDE)[0]

    @property
    def is_other_side(self) -> bool:
        """True of the baseline's side of a duel, for which the variant's speaks, unless it alone
        failed.
        """
        return self.label != self.shown_as and self.status != "failed"

    @property
    def is_out_of_range(self) -> bool:
        """True if a search found that its answer lies outside the range that it may try."""
        return any(gate.name == RANGE and not gate.ok for gate in self.gates)


def fault_of(error: ValidationError) -> str:
    """Return the first fault of a record, with its field."""
    found = error.errors()[0]
    return f"{'.'.join(map(str, found['loc'])) or 'JSON'}: {found['msg']}"


def parse_trials(content: bytes) -> tuple[list[Trial], list[str]]:
    """Return the trials of a trials.jsonl, and the lines that were set aside, each with the reason:
    damaged ones, and those that repeat a trial.

    A last line without its end is a trial that a kill cut off while it was stored: dropped.
    """
    whole = content[: content.rfind(b"\n") + 1]
    found: dict[str, Trial] = {}
    set_aside = []
    for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
        try:
            trial = Trial.model_validate_json(line)
        except ValidationError as error:
            set_aside.append(f"line {number} is damaged ({fault_of(error)})")
            continue
        if trial.id in found:
            set_aside.append(f"line {number} repeats trial {trial.id}")
        else:
            found[trial.id] = trial
    return list(found.values()), set_aside
