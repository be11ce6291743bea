"""A study's gates, with templates rendered over a scenario's parameters."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tare.lab.errors import ManifestError
from tare.lab.project import faults, render
from tare.model.gates import Gates


def limits(gates: Mapping[str, Any], parameters: Mapping[str, Any], where: str) -> Gates:
    """Return the gates under these parameters. Raises ManifestError that names `where`."""
    names = render.parameters(parameters)
    found = {key: render.value(item, names, f"{where}: gates.{key}") for key, item in gates.items()}
    if isinstance(found.get("off"), Mapping):
        found["off"] = {name: reason for name, reason in found["off"].items() if reason != ""}
    try:
        return Gates.model_validate(found)
    except ValidationError as error:
        problem = error.errors()[0]
        said = f"{where}: gates.{faults.field(problem)}: {faults.in_words(problem)}"
        raise ManifestError(said) from error
