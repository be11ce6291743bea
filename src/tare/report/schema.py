"""JSON Schemas of what people write and read: `python -m tare.report.schema docs/schema`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tare.model.manifest import Component, Experiment, Variant
from tare.model.results import Results
from tare.model.study import Study
from tare.model.trial import Plan, Trial

_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def _variant() -> dict[str, Any]:
    """A variant's file is merged over the experiment's `[variants]`: it may leave most out."""
    schema = Variant.model_json_schema()
    for name in ("Instrument", "Version"):
        schema["$defs"][name].pop("required", None)
    instruments = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Instrument"}}
    return schema | {
        "required": ["schema", "title"],
        "properties": schema["properties"] | {"instruments": instruments},
    }


def _experiment() -> dict[str, Any]:
    """Each image is merged over what all have in common, and may leave most out."""
    schema = Experiment.model_json_schema()
    schema["$defs"]["Image"].pop("required", None)
    return schema


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "component": Component.model_json_schema,
    "experiment": _experiment,
    "plan": Plan.model_json_schema,
    "results": Results.model_json_schema,
    "study": Study.model_json_schema,
    "trial": Trial.model_json_schema,
    "variant": _variant,
}


def text(name: str) -> str:
    """Return the schema of that name as it is committed."""
    return json.dumps(_DIALECT | SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for each in SCHEMAS:
        (Path(sys.argv[1]) / f"{each}.json").write_text(text(each))
