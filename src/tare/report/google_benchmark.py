"""Runs in the JSON of Google Benchmark, which tools that follow results over time read."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tare.model.trial import Trial
from tare.report.folder import RunFolder

_TIME_UNITS = {"ns": "ns", "µs": "us", "ms": "ms", "s": "s"}


def text(*folders: RunFolder) -> str:
    """The runs' `content`, as a file has it."""
    return json.dumps(content(*folders), indent=1, ensure_ascii=False) + "\n"


def content(*folders: RunFolder) -> dict[str, Any]:
    """`context`, of the first run, and `benchmarks` of all.

    Each valid trial is a repetition: of one benchmark, where the plan has a name for it, else of as
    many as its experiment has outcomes that are times. Other outcomes are its counters. Without any
    outcome that is a time the measured window is.
    """
    plan, environment = folders[0].plan, folders[0].environment
    made = [
        item
        for folder in folders
        for trial in folder.trials
        for item in _repetitions(folder, trial)
    ]
    made_of = Counter(item["name"] for item in made)
    families = {name: index for index, name in enumerate(made_of)}
    for item in made:
        item["family_index"] = families[item["name"]]
        item["repetitions"] = made_of[item["name"]]
    return {
        "context": {
            "date": plan.created,
            "executable": f"tare {plan.tare} {' '.join(each.plan.experiment for each in folders)}",
            "num_cpus": environment.get("cpu_count"),
            "run": plan.run,
        },
        "benchmarks": made,
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
    named = plan.benchmarks.get(trial.scenario, {}).get(trial.label)
    if named and {named.real_time, named.cpu_time} <= times.keys():
        real, cpu = times[named.real_time], times[named.cpu_time]
        taken = {named.real_time, named.cpu_time}
        item = _item(folder, trial, named.name, real, cpu, units[named.real_time])
        label = {"label": named.label} if named.label else {}
        yield item | label | named.counters | _without(known, taken)
        return
    if not times:
        times, units = {"window": trial.measured_s}, {"window": "s"}
    for name, value in times.items():
        title = f"{plan.experiment}/{trial.scenario}/{trial.label}/{name}"
        yield _item(folder, trial, title, value, value, units[name]) | _without(known, set(times))


def _without(outcomes: dict[str, float], names: set[str]) -> dict[str, float]:
    return {name: value for name, value in outcomes.items() if name not in names}


def _item(
    folder: RunFolder, trial: Trial, name: str, real: float, cpu: float, unit: str
) -> dict[str, Any]:
    requests = trial.instrument.get("outcomes", {}).get("requests")
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "repetition_index": trial.block,
        "threads": 1,
        "iterations": max(1, round(requests or 1)),
        "real_time": real,
        "cpu_time": cpu,
        "time_unit": unit,
    }
