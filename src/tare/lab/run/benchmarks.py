"""Names of a scenario's results in Google Benchmark's JSON, as the study gives them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tare.lab.project import render
from tare.lab.project.catalog import Loaded
from tare.model.exports import BenchmarkName
from tare.model.scenario import among
from tare.model.trial import Benchmark
from tare.stats.plan_order import CONTROL


def of(
    loaded: Loaded,
    variants: Sequence[str],
    levels: Mapping[str, str],
    parameters: Mapping[str, Any],
) -> dict[str, Benchmark]:
    """Return the benchmark of each label in the scenario of these levels and parameters; none
    where the study has no name for it. Raises ManifestError.
    """
    presented = loaded.study.google_benchmark
    if presented is None:
        return {}
    fitting = [each for each in presented.names if among(each.within, levels)]
    if not fitting:
        return {}
    rule, where = fitting[0], f"{loaded.title}: google_benchmark"
    found = {}
    for label in [*variants, CONTROL]:
        variant = loaded.variants.get(label)
        own = {"variant": label, "properties": variant.properties if variant else {}}
        names = {**parameters, **own}
        found[label] = Benchmark(
            name=render.text(rule.name, names, where) + _extra_levels(loaded, rule, levels),
            label=render.text(rule.label, names, where),
            real_time=presented.real_time,
            cpu_time=presented.cpu_time,
            counters={
                key: float(render.value(item, names, where)) for key, item in rule.counters.items()
            },
        )
    return found


def _extra_levels(loaded: Loaded, rule: BenchmarkName, levels: Mapping[str, str]) -> str:
    """Return the levels that the name does not contain and that are not the default."""
    factors = loaded.study.factors
    defaults = {name: next(iter(factor.levels)) for name, factor in factors.items()} | rule.defaults
    return "".join(
        f"/{name}:{level}"
        for name, level in levels.items()
        if name not in {*rule.within, *rule.says} and level != defaults[name]
    )
