"""Makes plans."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from tare.lab.errors import UnknownName
from tare.lab.project import gate_limits
from tare.lab.project.catalog import Loaded
from tare.lab.run import benchmarks
from tare.model.manifest import Blocks
from tare.model.scenario import Scenario, every, expand, level_parameters, parse_selection
from tare.model.trial import Plan

_SEED_BITS = 32


def make(
    loaded: Loaded,
    *,
    quick: bool,
    variants: list[str] | None,
    scenarios: list[str],
    blocks: int | None,
    seed: int | None,
    overrides: Mapping[str, Any],
) -> Plan:
    """The plan of a new run. Raises UnknownName for names that do not exist, and ManifestError for
    gates that a scenario makes none of.
    """
    experiment = loaded.experiment
    now = datetime.now(UTC)
    parameters = experiment.parameters | (experiment.quick.parameters if quick else {})
    if quick and not variants:
        variants = list(experiment.quick.variants) or None
    if blocks is not None:
        counts = Blocks(min=blocks, max=blocks)
    elif quick:
        counts = Blocks(min=experiment.quick.blocks, max=experiment.quick.blocks)
    else:
        counts = experiment.blocks
    plan = Plan(
        run=f"{now:%Y%m%dT%H%M%SZ}-{loaded.name}",
        experiment=loaded.name,
        title=experiment.title,
        question=experiment.question,
        tare=version("tare"),
        created=now.isoformat(timespec="seconds"),
        seed=random.getrandbits(_SEED_BITS) if seed is None else seed,
        baseline=experiment.baseline,
        variants=loaded.choose(variants),
        scenarios=_scenarios(loaded, scenarios, quick),
        parameters=parameters,
        overrides=checked(loaded, overrides),
        outcomes=experiment.outcomes,
        overview=experiment.overview,
        sesoi_pct=experiment.sesoi_pct,
        blocks=counts,
        quick=quick,
    )
    named = {}
    for scenario in plan.scenarios:
        values = parameters_of(plan, loaded, scenario)
        gate_limits.limits(experiment, values, loaded.name)
        if found := benchmarks.of(loaded, plan.variants, scenario, values):
            named[scenario.name] = found
    return plan.model_copy(update={"benchmarks": named})


def parameters_of(plan: Plan, loaded: Loaded, scenario: Scenario) -> dict[str, Any]:
    """A scenario's parameters: the plan's, then its levels', then the command line's."""
    return scenario_parameters(loaded, plan.parameters, scenario, plan.overrides)


def scenario_parameters(
    loaded: Loaded,
    parameters: Mapping[str, Any],
    scenario: Scenario,
    overrides: Mapping[str, Any],
) -> dict[str, Any]:
    """`parameters`, what the scenario's levels set over them, and `overrides` over both."""
    levels = level_parameters(loaded.experiment.factors, scenario)
    return {**parameters, **levels, **overrides}


def checked(loaded: Loaded, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """`overrides` with values of the types the experiment declares. Raises UnknownName."""
    known = loaded.experiment.parameters
    found = {}
    for name, value in overrides.items():
        if name not in known:
            raise UnknownName(
                f"{loaded.name} has no parameter {name!r}; it has: {', '.join(known)}"
            )
        found[name] = _as(type(known[name]), name, value)
    return found


def _scenarios(loaded: Loaded, wanted: list[str], quick: bool) -> list[Scenario]:
    factors = loaded.experiment.factors
    try:
        if wanted == ["all"]:
            experiment = loaded.experiment
            sensible = [*experiment.scenarios, *experiment.more]
            return expand(factors, sensible) if experiment.more else every(factors)
        if wanted:
            return expand(factors, [parse_selection(text) for text in wanted])
        chosen = loaded.experiment.quick.scenarios if quick else []
        return expand(factors, chosen or loaded.experiment.scenarios)
    except ValueError as error:
        raise UnknownName(f"{loaded.name}: {error}") from error


def _as(kind: type, name: str, value: Any) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False}[str(value).lower()]
        if kind is int:
            return _whole(value)
        if kind in (float, str):
            return kind(value)
    except (ValueError, KeyError) as error:
        raise UnknownName(f"parameter {name}: found {value!r}, expected {kind.__name__}") from error
    raise UnknownName(f"parameter {name}: a {kind.__name__} cannot be set on the command line")


def _whole(value: Any) -> int:
    """An integer. Raises ValueError for a number with a fraction, which int() would cut off."""
    number = int(value)
    if number != (float(value) if isinstance(value, float) else number):
        raise ValueError
    return number
