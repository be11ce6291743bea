"""Reads the manifests: which experiments, variants and components there are."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from tare.lab.errors import ManifestError, UnknownName
from tare.lab.paths import ROOT
from tare.lab.project import gate_limits, outcome_paths
from tare.lab.project.index import experiment_names, read_toml
from tare.model.base import Record
from tare.model.exports import Image
from tare.model.fields import NAME
from tare.model.manifest import Component, Experiment, Variant
from tare.model.references import of_experiment, of_variant
from tare.stats.plan_order import BASELINE_AGAIN

R = TypeVar("R", bound=Record)
_NAME = f"lower-case letters, digits and -, and not {BASELINE_AGAIN}"


@dataclass(frozen=True)
class Loaded:
    """An experiment with all its variants, the baseline first."""

    name: str
    folder: Path
    experiment: Experiment
    variants: dict[str, Variant]

    def variant_folder(self, variant: str) -> Path:
        """Where the variant's manifest lies."""
        return self.folder / "variants" / variant

    def image(self, name: str) -> Image:
        """One of its images. Raises UnknownName."""
        images = self.experiment.images
        if name not in images:
            raise UnknownName(_unknown(f"image of {self.name}", name, images))
        return images[name]

    def choose(self, names: list[str] | None) -> list[str]:
        """The named variants, or all that are not hidden; the baseline always, and first.

        Raises UnknownName.
        """
        wanted = names or [name for name, each in self.variants.items() if not each.hidden]
        for name in wanted:
            if name not in self.variants:
                raise UnknownName(_unknown(f"variant of {self.name}", name, self.variants))
        baseline = self.experiment.baseline
        return [baseline, *(name for name in dict.fromkeys(wanted) if name != baseline)]


@cache
def load(name: str, root: Path = ROOT) -> Loaded:
    """One experiment and its variants. Raises ManifestError."""
    folder = root / "experiments" / name
    file = folder / "experiment.toml"
    if not file.is_file():
        raise UnknownName(_unknown("experiment", name, experiment_names(root)))
    experiment = _validate(Experiment, _with_images(read_toml(file)), [file])
    _refuse(file, of_experiment(experiment))
    gate_limits.limits(experiment, experiment.parameters, str(file))
    variants: dict[str, Variant] = {}
    for path in sorted(folder.glob("variants/*/variant.toml")):
        own = read_toml(path)
        merged = _merge(experiment.variants, own)
        variant = path.parent.name
        if re.fullmatch(NAME, variant) is None or variant == BASELINE_AGAIN:
            raise ManifestError(f"{path}: the folder's name is found {variant!r}, expected {_NAME}")
        variants[variant] = _validate(Variant, merged, [path, file], own)
        _refuse(path, of_variant(variants[variant], experiment))
    if experiment.baseline not in variants:
        raise ManifestError(
            f"{file}: baseline: found {experiment.baseline!r}, expected one of its variants "
            f"({', '.join(variants) or 'there is none'})"
        )
    _refuse(file, outcome_paths.faults(experiment.outcomes, variants.values()))
    first = experiment.baseline
    ordered = {first: variants[first]} | variants
    return Loaded(name, folder, experiment, ordered)


@cache
def component(name: str, root: Path = ROOT) -> Component:
    """One component's manifest. Raises ManifestError."""
    file = component_folder(name, root) / "component.toml"
    return _validate(Component, read_toml(file), [file])


def component_folder(name: str, root: Path = ROOT) -> Path:
    """Where a component lies: with all components, or with the experiment that alone uses it.

    Raises ManifestError for a name that no component has, or several.
    """
    known = sorted(
        file.parent
        for pattern in ("components/*", "experiments/*/components/*")
        for file in root.glob(f"{pattern}/component.toml")
    )
    found = [folder for folder in known if folder.name == name]
    if not found:
        raise ManifestError(_unknown("component", name, [folder.name for folder in known]))
    if len(found) > 1:
        raise ManifestError(f"several components are called {name!r}: {', '.join(map(str, found))}")
    return found[0]


def split_target(target: str) -> tuple[str, str | None]:
    """`filters/c-module` → (filters, c-module); `filters` → (filters, None)."""
    name, _, variant = target.partition("/")
    return name, variant or None


def _refuse(file: Path, faults: Iterator[str]) -> None:
    if lines := [f"{file}: {fault}" for fault in faults]:
        raise ManifestError("\n".join(lines))


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Table by table; the order of `base` first, so that roles keep the experiment's order."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        both_tables = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(below, value) if both_tables else value  # type: ignore[arg-type]
    return merged


def _with_images(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The manifest with each of its images over what all have in common."""
    common, images = manifest.get("image", {}), manifest.get("images", {})
    if not isinstance(common, Mapping) or not isinstance(images, Mapping):
        return manifest
    merged = {
        name: _merge(common, own) if isinstance(own, Mapping) else own
        for name, own in images.items()
    }
    return {**manifest, "images": merged}


def _validate(
    kind: type[R], data: Mapping[str, Any], files: list[Path], own: Mapping[str, Any] | None = None
) -> R:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ManifestError("\n".join(_explain(error, files, own))) from error


def _explain(
    error: ValidationError, files: list[Path], own: Mapping[str, Any] | None
) -> Iterator[str]:
    for problem in error.errors():
        where = ".".join(str(part) for part in problem["loc"])
        # A field that is missing is the fault of the file that has the table around it.
        path = problem["loc"][:-1] if problem["type"] == "missing" else problem["loc"]
        file = files[0] if own is None or _has(own, path) else files[-1]
        match problem["type"]:
            case "extra_forbidden":
                yield f"{file}: {where}: unknown field; remove it or correct its name"
            case "missing":
                yield f"{file}: {where}: missing; expected a value"
            case _:
                expected = (
                    problem["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
                )
                yield f"{file}: {where}: found {problem['input']!r}, expected {expected}"


def _has(data: Any, path: tuple[int | str, ...]) -> bool:
    """Whether `data` holds what `path` leads to, as far as tables go: behind a value the path
    only says what was expected of it.
    """
    for part in path:
        if not isinstance(data, Mapping) or part == "[key]":
            return True
        if part not in data:
            return False
        data = data[part]
    return True


def _unknown(kind: str, name: str, known: Mapping[str, Any] | list[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    return f"there is no {kind} {name!r}{hint} there are: {', '.join(known) or 'none'}"
