"""results.json: a run's results, as docs/FORMAT.md defines them."""

from typing import Any, Literal

from tare.model.base import Record
from tare.model.shapes import Environment
from tare.model.study import Pairing
from tare.model.tail import Cause
from tare.model.trial import CONTROL

Verdict = Literal["costs", "saves", "equivalent", "unresolved"]


class Floor(Record):
    """The noise floor of one outcome: what the A/A control against baseline shows."""

    effect_pct: float | None
    ci_pct: tuple[float, float] | None
    reach_pct: float | None
    """The farthest that the interval reaches from zero."""
    detectable_pct: float | None
    """The smallest effect that so many blocks find about four times in five, judged alone."""
    verdict: Verdict | None
    """The verdict that the A/A control itself would get, where the outcome is judged; anything
    but equivalent or unresolved speaks against the run."""
    blocks: int


class OutcomeResult(Record):
    """One outcome of one variant in one scenario, and how it compares with the baseline's."""

    title: str
    unit: str
    better: Literal["lower", "higher"]
    median: float | None
    median_ci: tuple[float, float] | None
    effect_pct: float | None
    ci_pct: tuple[float, float] | None
    p_adjusted: float | None
    judged: bool
    verdict: Verdict | None
    why: str | None
    more_blocks: int | None
    """Roughly how many more blocks would resolve it."""
    blocks: int


class Quantile(Record):
    """A quantile in µs with its order-statistic interval; null where too few requests name it."""

    value_us: float | None
    ci_us: tuple[float, float] | None


class VariantResult(Record):
    """One variant in one scenario."""

    status: Literal["measured", "unavailable", "failed", "invalid"]
    reason: str | None
    version: str | None
    trials_valid: int
    trials_invalid: int
    trials_failed: int
    outcomes: dict[str, OutcomeResult]
    latency: dict[str, Quantile] = {}
    """Quantiles of all its trials' latency histograms merged, by name: p50 … p9999."""


class PairResult(Record):
    """The comparison of two variants, neither of them the baseline, in one judged outcome."""

    outcome: str
    variant: str
    against: str
    effect_pct: float
    ci_pct: tuple[float, float] | None
    p_adjusted: float
    """After Holm's correction over all pairs and judged outcomes of the scenario."""
    verdict: Verdict
    why: str
    more_blocks: int | None
    blocks: int


class Growth(Record):
    """The response at a dose, less that at the lowest dose."""

    dose: float
    value: float
    ci: tuple[float, float] | None


class SlopeOfVariant(Record):
    """One variant's slope: how much the response grows with each unit of the dose."""

    slope: float
    ci: tuple[float, float] | None
    bend: float | None
    """By how much the slope at the highest dose exceeds that at the lowest."""
    bend_ci: tuple[float, float] | None
    bends: bool
    """Whether the interval of the bend excludes 0: the slope is then one of a curve."""
    growth: list[Growth]
    intercept: float | None = None
    """The response without any dose, in its own unit: what is fixed."""
    intercept_ci: tuple[float, float] | None = None
    intercept_difference: float | None = None
    """To the baseline's."""
    intercept_difference_ci: tuple[float, float] | None = None
    difference: float | None
    """To the baseline's slope."""
    difference_ci: tuple[float, float] | None
    p_adjusted: float | None
    verdict: Verdict | None
    why: str | None
    blocks: int


class SlopePair(Record):
    """By how much one variant's slope exceeds that of another that is not the baseline."""

    variant: str
    against: str
    difference: float
    ci: tuple[float, float] | None
    p_adjusted: float
    """After Holm's correction over all pairs of the scenario."""
    verdict: Verdict
    why: str
    blocks: int


class SlopeResult(Record):
    """One outcome that is a slope, in its unit, compared by differences."""

    outcome: str
    title: str
    unit: str
    better: Literal["lower", "higher"]
    parameter: str
    """What the dose is called."""
    response: str
    """Title of the outcome that responds."""
    response_unit: str = ""
    floor: float | None
    """The farthest that the A/A control's difference to the baseline reaches from 0."""
    variants: dict[str, SlopeOfVariant]
    pairs: list[SlopePair]


class FrameResult(Record):
    """A function's CPU time per request on both sides, what it calls included, or without that."""

    name: str
    module: str
    kind: str
    own: bool
    """Without what it calls."""
    baseline_ns: float
    variant_ns: float
    difference_ns: float
    ci_ns: tuple[float, float]
    """Holds for all functions of the table together."""
    clear: bool
    """Whether the interval excludes 0."""
    callers: list[str] = []
    """Of a clear one: the functions through which it was called in nearly all of its samples, the
    nearest first.
    """


class CountResult(Record):
    """Events per request on both sides: of a system call, or of switches of tasks."""

    name: str
    baseline: float
    variant: float
    difference: float
    ci: tuple[float, float]
    """Holds for all counts of the table together."""
    clear: bool


class RoleResult(Record):
    """The CPU time of one role on both sides, in ns of a request."""

    role: str
    baseline_ns: float
    variant_ns: float
    difference_ns: float
    ci_ns: tuple[float, float]
    """Holds for all roles together."""
    clear: bool
    """Whether the interval excludes 0."""


class CauseResult(Record):
    """The differences between a variant's and its baseline's processes, in windows that do not
    count.
    """

    label: str
    duels: int
    """Pairs of windows: duels, or blocks of trials."""
    only_counted: str = ""
    """The reason why there are counts of /proc only: no functions and no system calls."""
    named_share: float
    """Of the samples, those whose function is known by name; 0 without samples."""
    lost_share: float
    price_pct: float | None
    """By how much looking raised the variant's CPU time per request, where that is judged."""
    price_ci_pct: tuple[float, float] | None
    baseline_ns: float
    """CPU time per request, counted by the kernel's scheduler."""
    variant_ns: float
    difference_ns: float
    ci_ns: tuple[float, float]
    roles: list[RoleResult] = []
    """Those with a noticeable share of the time, if there are several."""
    frames: list[FrameResult]
    """Those with a noticeable share of the time, the largest difference first."""
    counts: list[CountResult]


class TailPartResult(Record):
    """The time of one cause in the slowest requests of both sides, in ns of a request."""

    cause: Cause
    who: str
    """The program, or the system call, that it is about."""
    baseline_ns: float
    variant_ns: float
    difference_ns: float
    ci_ns: tuple[float, float]
    """Holds for all causes of the table together."""
    clear: bool
    """Whether the interval excludes 0."""


class TailResult(Record):
    """The differences between the slowest requests of a variant and those of its baseline, each
    alone under its load, in windows that do not count.
    """

    label: str
    windows: int
    """Of each side; as many more as `spoilt` were left out."""
    spoilt: int
    """Windows in which events were lost, or with too few requests."""
    slowest_share: float
    """Of all requests, those that are looked at."""
    baseline_p99_ns: float
    variant_p99_ns: float
    p99_difference_ns: float
    p99_ci_ns: tuple[float, float]
    baseline_ns: float
    """Mean latency of the slowest, likewise below."""
    variant_ns: float
    difference_ns: float
    ci_ns: tuple[float, float]
    parts: list[TailPartResult]
    """Those with a noticeable share of the time, the largest difference first."""


class WithinResult(Record):
    """The share, 0 to 1, of the variance of an outcome's ratios from duel to duel that is there
    within duels already.
    """

    share: float
    ci: tuple[float, float]


class ScenarioResult(Record):
    """One scenario: the noise floor, every variant, and every pair of them."""

    name: str
    levels: dict[str, str]
    parameters: dict[str, Any] = {}
    """All that its trials were made with."""
    noise_floor: dict[str, Floor]
    variants: dict[str, VariantResult]
    pairs: list[PairResult] = []
    slopes: list[SlopeResult] = []
    causes: list[CauseResult] = []
    """Of the trials or duels whose processes were looked at."""
    tails: list[TailResult] = []
    """Of the duels whose slowest requests were looked at."""
    within: dict[str, WithinResult] = {}
    """By judged outcome, of duels that told the spread within them."""

    def control_verdicts(self) -> dict[str, Verdict | None]:
        """Return outcome → the verdict of the A/A control, of ratios and of slopes."""
        found = {name: floor.verdict for name, floor in self.noise_floor.items()}
        own = ((each.outcome, each.variants.get(CONTROL)) for each in self.slopes)
        return found | {name: control.verdict for name, control in own if control is not None}


class BenchEffect(Record):
    """An effect as one bench has it."""

    effect_pct: float
    ci_pct: tuple[float, float]


class BenchSpread(Record):
    """One effect on each bench, as a random one."""

    scenario: str
    outcome: str
    title: str
    variant: str
    by_bench: dict[str, BenchEffect]
    deviation_pct: float
    """Standard deviation between benches."""
    p_adjusted: float
    """That all benches have the same, after Holm's correction over all of the run."""
    next_pct: tuple[float, float] | None
    """Where the effect on one more bench is expected, in 95 % of cases."""


class BenchLevel(Record):
    """By how much the baseline's outcome on one bench exceeds that on all others."""

    scenario: str
    outcome: str
    title: str
    bench: str
    differs_pct: float
    ci_pct: tuple[float, float]
    p_adjusted: float


class BenchesResult(Record):
    """The machines that made the blocks."""

    blocks: dict[str, int]
    """Bench → how many it made."""
    spreads: list[BenchSpread]
    levels: list[BenchLevel]


class Results(Record):
    """The whole of results.json."""

    schema_version: Literal[2] = 2
    experiment: str
    study: str
    title: str
    question: str
    run: str
    seed: int
    baseline: str
    baselines: dict[str, str] = {}
    """Variant → the variant that it is compared with, where that is not `baseline`."""
    complete: bool
    margin_pct: float
    overview: list[str] = []
    """Outcomes to show side by side."""
    measured_share: float
    """Share of the trials' wall time that was measuring."""
    block_s: float = 0.0
    """Seconds from one block of all scenarios to the next, on average."""
    answers: list[str] = []
    """The answer in sentences, from the verdicts."""
    environment: Environment
    scenarios: list[ScenarioResult]
    benches: BenchesResult | None = None
    """Where blocks were dealt to several machines."""
    pairing: Pairing | None = None
    """How pairs were made; None in results of an earlier form."""
    running: bool = False
    """All blocks measured the same processes, which were started by somebody else."""
    limits: dict[str, float] = {}
    """Outcome → by how many percent a gate lets it get worse."""

    def baseline_of(self, label: str) -> str:
        """The variant that a label is compared with."""
        return self.baselines.get(label, self.baseline)

    def alarms(self) -> list[tuple[str, str]]:
        """Return each scenario and outcome in which the A/A control differs from the baseline."""
        return [
            (scenario.name, outcome)
            for scenario in self.scenarios
            for outcome, verdict in scenario.control_verdicts().items()
            if verdict in ("costs", "saves")
        ]
