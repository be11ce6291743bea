"""The levels that a variant supports: its rules, read against a scenario's parameters."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tare.lab.project import render
from tare.lab.project.catalog import Loaded
from tare.model.manifest import LevelRule
from tare.model.scenario import Scenario


def unsupported(loaded: Loaded, variant: str, scenario: Scenario) -> str | None:
    """Return why the variant cannot be measured in the scenario on any machine, or None."""
    return _first_reason(matching(loaded, variant, scenario.parameters))


def unsupported_with(loaded: Loaded, variant: str, parts: Collection[str]) -> str | None:
    """Return why the variant cannot be measured in any scenario with these parts exchanged."""
    return _first_reason(_matching(loaded, variant, {}, parts))


def matching(loaded: Loaded, variant: str, parameters: Mapping[str, Any]) -> Iterator[LevelRule]:
    """Yield the variant's rules that hold under these parameters. Raises ManifestError."""
    return _matching(loaded, variant, parameters, loaded.parts)


def _first_reason(rules: Iterator[LevelRule]) -> str | None:
    return next((rule.unsupported for rule in rules if rule.unsupported), None)


def _matching(
    loaded: Loaded, variant: str, parameters: Mapping[str, Any], parts: Collection[str]
) -> Iterator[LevelRule]:
    own = loaded.variants[variant].properties
    names = {**parameters, "study": loaded.study_name, "properties": own, "part": parts}
    for rule in loaded.variants[variant].levels:
        # A parameter that this study does not have cannot be at that level.
        if render.names_in(rule.when) <= names.keys():
            where = f"{loaded.variant_folder(variant) / 'variant.toml'}: levels"
            if render.condition(rule.when, names, where):
                yield rule
