"""The number of a plan's trials, and about how long they take."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from tare.lab.project.catalog import Loaded
from tare.lab.project.preparation import Prepared
from tare.model.base import Record
from tare.model.given_up import needs
from tare.model.scenario import Scenario
from tare.model.trial import Plan, Trial, parse_trials
from tare.stats.blocks import planned_variants
from tare.stats.ending import earliest_end
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import counted

GUESS = "a guess"
_RUNS = 3


class Estimate(Record):
    """From the fewest to the most blocks; trials that have to be repeated come on top."""

    per_block: int
    """Trials of a block."""
    trials: tuple[int, int]
    seconds: tuple[float, float]
    overhead_s: float
    """Of a trial in the mean, beside warm-up and measuring."""
    overhead_of: str
    """Where that comes from."""
    made: int = 0
    """Trials that need not be made again; `trials` and `seconds` are of what is left."""

    def after(self, before: Sequence[Trial]) -> "Estimate":
        """Return what is left of it once these trials are made."""
        counted = ("valid", "failed")  # refused ones are repeated, unavailable ones not planned
        made = sum(not each.is_other_side and each.status in counted for each in before)
        low, high = (max(count - made, 0) for count in self.trials)
        a_trial_s = self.seconds[1] / max(self.trials[1], 1)
        return self.model_copy(
            update={
                "made": made,
                "trials": (low, high),
                "seconds": (low * a_trial_s, high * a_trial_s),
            }
        )


def estimate(plan: Plan, loaded: Loaded, runs: Path, prepared: Prepared) -> Estimate:
    """Of a plan, with the overhead of the experiment's latest runs in `runs`, if there are any.

    Trials that cannot be made are left out, as far as `prepared` knows of them.
    """
    known = _overheads(plan, runs)
    overhead = fmean(known) if known else loaded.experiment.overhead_s
    block_s, trials = 0.0, 0
    for scenario in plan.scenarios:
        count = len(_labels(plan, loaded, scenario, prepared))
        analysis = loaded.study.analysis
        values = scenario.parameters | analysis.window
        windows = analysis.windows + plan.why + 2 * plan.tail
        block_s += count * (windows * _planned_s(values) + overhead)
        trials += count
    most = plan.blocks.max
    if plan.within_s is not None and block_s:
        most = min(most, math.ceil(plan.within_s / block_s))
    low, high = min(earliest_end(plan), most), most
    return Estimate(
        per_block=trials,
        trials=(trials * low, trials * high),
        seconds=(block_s * low, block_s * high),
        overhead_s=overhead,
        overhead_of=f"{counted(len(known), 'trial')} of the latest runs" if known else GUESS,
    )


def _labels(plan: Plan, loaded: Loaded, scenario: Scenario, prepared: Prepared) -> list[str]:
    """List what a block measures in the scenario, without the variants that cannot be measured."""
    return [
        label
        for label in [*planned_variants(plan), CONTROL]
        if not any(prepared.unavailable_in(scenario, loaded, name) for name in needs(plan, label))
    ]


def _planned_s(values: Mapping[str, object]) -> float:
    return sum(float(str(values.get(name, 0))) for name in ("duration_s", "warmup_s"))


def _overheads(plan: Plan, runs: Path) -> list[float]:
    """Seconds beside warm-up and measuring, of the valid trials of the latest runs."""
    found: list[float] = []
    folders = sorted(
        file.parent for file in runs.glob(f"*-{plan.experiment}-{plan.study}*/plan.json")
    )
    for folder in folders[-_RUNS:]:
        try:
            earlier = Plan.model_validate_json((folder / "plan.json").read_text())
            trials, _ = parse_trials((folder / "trials.jsonl").read_bytes())
        except (OSError, ValueError):
            continue  # a run that cannot be read tells nothing
        if earlier.why or earlier.tail:
            continue  # its trials had more than one window
        warmup_s = {
            scenario.name: float(scenario.parameters.get("warmup_s", 0))
            for scenario in earlier.scenarios
        }
        found += [
            trial.wall_s - trial.measured_s - warmup_s[trial.scenario]
            for trial in trials
            # An analysis has more to it than one window; a line may be of another run.
            if trial.status == "valid"
            and trial.scenario in warmup_s
            and not {"capacity", "slope"} & trial.instrument.keys()
        ]
    return found
