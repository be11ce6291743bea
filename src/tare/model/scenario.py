"""Scenarios: one level of every factor, and the parameters that were really used."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from pydantic import Field

from tare.model.base import Record
from tare.model.fields import Selection
from tare.model.study import Factor

EFFORT = ("duration_s", "warmup_s")
"""Parameters of the duration of a measurement: they are no part of a scenario's name."""


class Scenario(Record):
    """One combination of levels. `name` is made of what was really used: it keys results and
    compares runs.
    """

    name: str
    levels: dict[str, str] = Field(default_factory=dict)
    """Factor (or overridden parameter) → what it was."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """All of them, rendered, as the trials used them."""


def expand(factors: Mapping[str, Factor], selections: Iterable[Selection]) -> list[dict[str, str]]:
    """Return every combination of levels that the selections name, once, in their order.

    A factor that a selection leaves out takes its first level. Raises ValueError for a factor or
    level that does not exist.
    """
    found: list[dict[str, str]] = []
    for selection in selections:
        _known(factors, selection)
        choices = [_choices(name, factor, selection) for name, factor in factors.items()]
        for combination in product(*choices):
            levels = dict(zip(factors, combination, strict=True))
            if levels not in found:
                found.append(levels)
    return found


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


def level_parameters(factors: Mapping[str, Factor], levels: Mapping[str, str]) -> dict[str, Any]:
    """Return what the levels set, later factors over earlier ones."""
    merged: dict[str, Any] = {}
    for name, level in levels.items():
        merged |= factors[name].levels[level]
    return merged


def effective_levels(
    factors: Mapping[str, Factor], levels: Mapping[str, str], overrides: Mapping[str, Any]
) -> dict[str, str]:
    """Return factor → level as it was really used, and overridden parameters that no level sets.

    A level that an override changes takes the name of the level that it equals then; else the value
    itself, where the level has one parameter or is called by it; else `LEVEL(parameter:value)`.
    """
    found, covered = {}, set(EFFORT)
    for name, level in levels.items():
        factor = factors[name]
        changed = {
            key: overrides[key]
            for key, value in factor.levels[level].items()
            if key in overrides and overrides[key] != value
        }
        covered |= factor.levels[level].keys()
        found[name] = _renamed(factor, level, changed) if changed else level
    extra = {name: str(value) for name, value in overrides.items() if name not in covered}
    return found | extra


def name_of(levels: Mapping[str, str]) -> str:
    """Return the scenario's name: `factor=level,factor=level`."""
    return ",".join(f"{key}={level}" for key, level in levels.items()) or "default"


def repeated(scenarios: Sequence[Scenario]) -> str | None:
    """Return the first name that several scenarios have, or None."""
    names = [scenario.name for scenario in scenarios]
    return next((name for name in names if names.count(name) > 1), None)


def among(only: Mapping[str, list[str]], levels: Mapping[str, str]) -> bool:
    """Return whether the levels are among those that `only` allows; a factor not named: any."""
    return all(levels.get(name) in allowed for name, allowed in only.items())


def _renamed(factor: Factor, level: str, changed: Mapping[str, Any]) -> str:
    used = factor.levels[level] | dict(changed)
    for other, parameters in factor.levels.items():
        if parameters == used:
            return other
    kept = {key: value for key, value in changed.items() if key not in EFFORT}
    if len(kept) == 1:
        ((key, value),) = kept.items()
        if len(used) == 1 or level == str(factor.levels[level][key]):
            return str(value)
    inner = ";".join(f"{key}:{value}" for key, value in kept.items())
    return f"{level}({inner})" if inner else level


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
