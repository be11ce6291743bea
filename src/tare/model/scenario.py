"""Scenarios: one level of every factor, and the parameters that follow from them."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from pydantic import Field

from tare.model.base import Record
from tare.model.fields import Selection
from tare.model.manifest import Factor, Variant


class Scenario(Record):
    """One combination of levels. `name` is stable: it keys results and compares runs."""

    name: str
    levels: dict[str, str] = Field(default_factory=dict)


def expand(factors: Mapping[str, Factor], selections: Iterable[Selection]) -> list[Scenario]:
    """Every scenario that the selections name, once, in their order.

    A factor that a selection leaves out takes its first level. Raises ValueError for a factor or
    level that does not exist.
    """
    found: dict[str, Scenario] = {}
    for selection in selections:
        _known(factors, selection)
        choices = [_choices(name, factor, selection) for name, factor in factors.items()]
        for combination in product(*choices):
            levels = dict(zip(factors, combination, strict=True))
            name = ",".join(f"{key}={level}" for key, level in levels.items()) or "default"
            found.setdefault(name, Scenario(name=name, levels=levels))
    return list(found.values())


def every(factors: Mapping[str, Factor]) -> list[Scenario]:
    """The whole matrix."""
    return expand(factors, [{name: list(factor.levels) for name, factor in factors.items()}])


def first(factors: Mapping[str, Factor], variant: Variant) -> Scenario:
    """The default scenario, or the first of the matrix that the variant takes."""
    whole = every(factors)
    return next((each for each in whole if supported(variant, each) is None), whole[0])


def parse_selection(text: str) -> Selection:
    """`loop=steady,size=1k|4k` → {loop: steady, size: [1k, 4k]}; raises ValueError."""
    selection: Selection = {}
    for part in text.split(","):
        name, equals, levels = part.partition("=")
        if not (name and equals and levels):
            raise ValueError(f"scenario {text!r}: expected FACTOR=LEVEL[,FACTOR=LEVEL…]")
        if name.strip() in selection:
            raise ValueError(f"scenario {text!r}: {name.strip()} twice; join levels by |")
        selection[name.strip()] = [level.strip() for level in levels.split("|")]
    return selection


def level_parameters(factors: Mapping[str, Factor], scenario: Scenario) -> dict[str, Any]:
    """What the scenario's levels set, later factors over earlier ones."""
    merged: dict[str, Any] = {}
    for name, level in scenario.levels.items():
        merged |= factors[name].levels[level]
    return merged


def among(only: Mapping[str, list[str]], levels: Mapping[str, str]) -> bool:
    """Whether the levels are among those that `only` allows; a factor not named: any."""
    return all(levels.get(name) in allowed for name, allowed in only.items())


def supported(variant: Variant, scenario: Scenario) -> str | None:
    """Why the variant cannot take the scenario, or None when it can."""
    supports = variant.supports
    for name, level in scenario.levels.items():
        if why := variant.without.get(name, {}).get(level):
            return why
        if name in supports and level not in supports[name]:
            return f"{name}={level} is not one of its levels ({', '.join(supports[name])})"
    for selection in variant.excludes:
        if all(scenario.levels[name] in _levels(levels) for name, levels in selection.items()):
            named = ", ".join(f"{name}={scenario.levels[name]}" for name in selection)
            return f"{named} do not go together"
    return None


def _known(factors: Mapping[str, Factor], selection: Selection) -> None:
    for name, wanted in selection.items():
        if name not in factors:
            raise ValueError(f"no factor {name!r}; there are: {', '.join(factors) or 'none'}")
        for level in _levels(wanted):
            if level not in factors[name].levels:
                known = ", ".join(factors[name].levels)
                raise ValueError(f"factor {name!r} has no level {level!r}; it has: {known}")


def _choices(name: str, factor: Factor, selection: Selection) -> list[str]:
    wanted = selection.get(name)
    if wanted is None:
        return [next(iter(factor.levels))]
    return _levels(wanted)


def _levels(wanted: str | list[str]) -> list[str]:
    return [wanted] if isinstance(wanted, str) else list(wanted)
