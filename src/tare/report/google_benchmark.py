"""A run in the JSON of Google Benchmark, which tools that follow results over time read."""

from collections.abc import Iterator
from typing import Any

from tare.model.trial import Trial
from tare.report.folder import RunFolder

_TIME_UNITS = {"ns": "ns", "µs": "us", "ms": "ms", "s": "s"}


def content(folder: RunFolder) -> dict[str, Any]:
    """`context` and `benchmarks`: each valid trial is a repetition of as many benchmarks as its
    experiment has outcomes that are times; its other outcomes are their counters. Without such an
    outcome the measured window is the time.
    """
    plan, environment = folder.plan, folder.environment
    return {
        "context": {
            "date": plan.created,
            "executable": f"tare {plan.tare} {plan.experiment}",
            "num_cpus": environment.get("cpu_count"),
            "run": plan.run,
        },
        "benchmarks": [item for trial in folder.trials for item in _repetitions(folder, trial)],
    }


def _repetitions(folder: RunFolder, trial: Trial) -> Iterator[dict[str, Any]]:
    if trial.status != "valid":
        return
    plan = folder.plan
    known = {name: value for name, value in trial.outcomes.items() if value is not None}
    times = {
        name: value for name, value in known.items() if plan.outcomes[name].unit in _TIME_UNITS
    }
    units = {name: _TIME_UNITS[plan.outcomes[name].unit] for name in times}
    if not times:
        times, units = {"window": trial.measured_s}, {"window": "s"}
    for name, value in times.items():
        title = f"{plan.experiment}/{trial.scenario}/{trial.label}/{name}"
        yield {
            "name": title,
            "run_name": title,
            "run_type": "iteration",
            "repetitions": plan.blocks.max,
            "repetition_index": trial.block,
            "threads": 1,
            "iterations": 1,
            "real_time": value,
            "cpu_time": value,
            "time_unit": units[name],
            **{other: each for other, each in known.items() if other not in times},
        }
