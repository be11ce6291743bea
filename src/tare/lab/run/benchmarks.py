"""What Google Benchmark's JSON calls the results of a scenario, where the experiment says so."""

from collections.abc import Mapping, Sequence
from typing import Any

from tare.lab.project import render
from tare.lab.project.catalog import Loaded
from tare.model.exports import BenchmarkName
from tare.model.scenario import Scenario, among
from tare.model.trial import Benchmark
from tare.stats.plan_order import CONTROL


def of(
    loaded: Loaded, variants: Sequence[str], scenario: Scenario, parameters: Mapping[str, Any]
) -> dict[str, Benchmark]:
    """By label; empty where the experiment has no name. Raises ManifestError."""
    presented = loaded.experiment.google_benchmark
    if presented is None:
        return {}
    fitting = [each for each in presented.names if among(each.within, scenario.levels)]
    if not fitting:
        return {}
    rule, known, where = (
        fitting[0],
        render.parameters(parameters),
        f"{loaded.name}: google_benchmark",
    )
    found = {}
    for label in [*variants, CONTROL]:
        variant = loaded.variants.get(label)
        own = {"variant": label, "properties": variant.properties if variant else {}}
        names = {**known, **own}
        found[label] = Benchmark(
            name=render.text(rule.name, names, where) + _unusual(loaded, rule, scenario),
            label=render.text(rule.label, names, where),
            real_time=presented.real_time,
            cpu_time=presented.cpu_time,
            counters={
                key: float(render.value(item, names, where)) for key, item in rule.counters.items()
            },
        )
    return found


def _unusual(loaded: Loaded, rule: BenchmarkName, scenario: Scenario) -> str:
    """The levels that the name does not say and that do not go without saying."""
    factors = loaded.experiment.factors
    usual = {name: next(iter(factor.levels)) for name, factor in factors.items()} | rule.usual
    return "".join(
        f"/{name}:{level}"
        for name, level in scenario.levels.items()
        if name not in {*rule.within, *rule.says} and level != usual[name]
    )
