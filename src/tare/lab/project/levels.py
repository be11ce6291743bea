"""The levels that a variant supports: its rules, read against a scenario's parameters."""

from collections.abc import Iterator, Mapping
from typing import Any

from tare.lab.project import render
from tare.lab.project.catalog import Loaded
from tare.model.manifest import LevelRule
from tare.model.scenario import Scenario


def unsupported(loaded: Loaded, variant: str, scenario: Scenario) -> str | None:
    """Return why the variant cannot be measured in the scenario on any machine, or None."""
    rules = matching(loaded, variant, scenario.parameters)
    return next((rule.unsupported for rule in rules if rule.unsupported), None)


def matching(loaded: Loaded, variant: str, parameters: Mapping[str, Any]) -> Iterator[LevelRule]:
    """Yield the variant's rules that hold under these parameters. Raises ManifestError."""
    own = loaded.variants[variant].properties
    here = {"study": loaded.study_name, "properties": own, "part": loaded.parts}
    names = {**parameters, **here}
    for rule in loaded.variants[variant].levels:
        # A parameter that this study does not have cannot be at that level.
        if render.names_in(rule.when) <= names.keys():
            where = f"{loaded.variant_folder(variant) / 'variant.toml'}: levels"
            if render.condition(rule.when, names, where):
                yield rule
