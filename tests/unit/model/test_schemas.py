"""The published schemas are those of the models, and every manifest of the project fits its own."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from tare.lab.paths import ROOT
from tare.report.schema import SCHEMAS, text

FOLDER = ROOT / "docs" / "schema"
MANIFESTS = [
    *sorted(ROOT.glob("experiments/*/experiment.toml")),
    *sorted(ROOT.glob("experiments/*/studies/*.toml")),
    *sorted(ROOT.glob("experiments/*/variants/*/variant.toml")),
    *sorted(ROOT.glob("**/components/*/component.toml")),
]


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_the_model_s(name: str) -> None:
    found = (FOLDER / f"{name}.json").read_text()
    assert found == text(name), "run: python -m tare.report.schema docs/schema"


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_manifest_names_its_schema_and_fits_it(file: Path) -> None:
    first, *_ = file.read_text().splitlines()
    assert first.startswith("#:schema "), f"{file}: begin it with #:schema and the schema's path"
    schema = (file.parent / first.removeprefix("#:schema ")).resolve()
    assert schema.parent == FOLDER
    jsonschema.validate(tomllib.loads(file.read_text()), json.loads(schema.read_text()))
