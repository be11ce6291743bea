"""Read the manifests of experiments, studies, variants and components."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from tare.lab.errors import ManifestError, UnknownName, no_such
from tare.lab.paths import ROOT
from tare.lab.project import faults, gate_limits, outcome_paths, references
from tare.lab.project.index import experiment_names, read_toml, study_names, variant_files
from tare.model.base import Record
from tare.model.exports import Image
from tare.model.fields import NAME
from tare.model.manifest import Component, Experiment, Variant
from tare.model.outcome import Outcome
from tare.model.part import Exchanged
from tare.model.study import Study
from tare.model.trial import clashing
from tare.stats.plan_order import CONTROL

R = TypeVar("R", bound=Record)
_NAME = f"lower-case letters, digits and -, and not {CONTROL}"


@dataclass(frozen=True)
class Loaded:
    """An experiment with one of its studies and all its variants, the baseline first."""

    name: str
    folder: Path
    experiment: Experiment
    study_name: str
    study: Study
    """The study's file, merged over the experiment's."""
    variants: dict[str, Variant]
    outside: Path | None = None
    """The user's folder of further variants, EXPERIMENT/VARIANT in it."""
    parts: Mapping[str, Exchanged] = field(default_factory=dict)
    """Part → the user's own file in its place."""

    @property
    def title(self) -> str:
        """EXPERIMENT/STUDY."""
        return f"{self.name}/{self.study_name}"

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcomes that the study names, judged ones first."""
        return self.study.chosen(self.experiment.outcomes)

    def variant_folder(self, variant: str) -> Path:
        """Return the folder of a variant's manifest."""
        inside = self.folder / "variants" / variant
        if self.outside is None or inside.is_dir():
            return inside
        return self.outside / self.name / variant

    def image(self, name: str) -> Image:
        """One of its images. Raises UnknownName."""
        images = self.experiment.images
        if name not in images:
            raise UnknownName(no_such(f"image of {self.name}", name, images))
        return images[name]

    def baseline_of(self, variant: str) -> str:
        """The variant that this one is compared with."""
        return self.variants[variant].baseline or self.study.baseline

    def listed(self) -> list[str]:
        """Return the variants that are not hidden."""
        return [name for name, each in self.variants.items() if not each.hidden]

    def choose(self, names: list[str] | None) -> list[str]:
        """The named variants, or all that are neither hidden nor extended, with the variants that
        they are compared with; the study's baseline always, and first.

        Raises UnknownName.
        """
        wanted = names or [name for name in self.listed() if not self.variants[name].extended]
        for name in wanted:
            if name not in self.variants:
                raise UnknownName(no_such(f"variant of {self.name}", name, self.listed()))
        first = self.study.baseline
        pairs = [each for name in wanted for each in (self.baseline_of(name), name)]
        return [first, *(name for name in dict.fromkeys(pairs) if name != first)]

    def compared_with(self, baseline: str) -> "Loaded":
        """Return it with all variants compared with this one. Raises UnknownName."""
        self.choose([baseline])
        others = {name: each for name, each in self.variants.items() if name != baseline}
        ordered = {baseline: self.variants[baseline]} | others
        alone = {key: each.model_copy(update={"baseline": None}) for key, each in ordered.items()}
        study = self.study.model_copy(update={"baseline": baseline})
        return replace(self, study=study, variants=alone)


@cache
def load(
    name: str, study: str | None = None, root: Path = ROOT, outside: Path | None = None
) -> Loaded:
    """One experiment, with the study of that name or else its first, and its variants, those of
    the folder `outside` included.

    Raises ManifestError, and UnknownName.
    """
    folder = root / "experiments" / name
    file = folder / "experiment.toml"
    if not file.is_file():
        raise UnknownName(no_such("experiment", name, experiment_names(root)))
    experiment = _validate(Experiment, _with_images(read_toml(file)), [file])
    known = study_names(folder)
    for listed in experiment.studies:
        if listed not in known:
            raise ManifestError(
                f"{file}: studies: found {listed!r}, expected the name of a file in its studies/ "
                f"({', '.join(known) or 'there is none'})"
            )
    chosen = study or experiment.studies[0]
    if chosen not in known:
        raise UnknownName(no_such(f"study of {name}", chosen, known))
    study_file = folder / "studies" / f"{chosen}.toml"
    raw = read_toml(study_file)
    asked = over(experiment, _validate(Study, raw, [study_file]))
    _refuse(study_file, references.of_study(asked, experiment))
    gate_limits.limits(asked.gates, asked.parameters, str(study_file))
    common = dict(experiment.variants)
    if "instrument" in raw:
        common["instrument"] = raw["instrument"]
    variants: dict[str, Variant] = {}
    files = variant_files(folder, outside)
    for path in files:
        own = read_toml(path)
        merged = _merge(common, _for_study(own, chosen, path, known))
        merged["levels"] = [*_rules(common), *_rules(own)]
        variant = path.parent.name
        if re.fullmatch(NAME, variant) is None or variant == CONTROL:
            raise ManifestError(f"{path}: invalid folder name {variant!r}, expected {_NAME}")
        if variant in known:
            raise ManifestError(f"{path}: {variant!r} is the name of a study, too; rename one")
        if variant in variants:
            raise ManifestError(f"{path}: {name} has a variant {variant!r} itself; rename yours")
        variants[variant] = _validate(Variant, merged, [path, file], own)
    if taken := clashing(variants):
        raise ManifestError(f"{folder}: {taken!r} is what a trial of another is called; rename it")
    names = references.known_to(folder)
    for path in files:
        _refuse(path, references.of_variant(variants[path.parent.name], variants, names))
    for where, first in ((file, experiment.baseline), (study_file, asked.baseline)):
        if first not in variants:
            raise ManifestError(
                f"{where}: baseline: found {first!r}, expected one of its variants "
                f"({', '.join(variants) or 'there is none'})"
            )
    for where, outcomes in ((file, experiment.outcomes), (study_file, asked.outcomes)):
        _refuse(where, outcome_paths.faults(outcomes, variants.values()))
    ordered = {asked.baseline: variants[asked.baseline]} | variants
    return Loaded(name, folder, experiment, chosen, asked, ordered, outside)


def _for_study(own: Mapping[str, Any], study: str, file: Path, known: list[str]) -> dict[str, Any]:
    """Return a variant's manifest with its `[instruments.STUDY]` as its `[instrument]`.

    Raises ManifestError for a study that does not exist.
    """
    instruments = own.get("instruments", {})
    for name in instruments:
        if name not in known:
            raise ManifestError(f"{file}: instruments: {no_such('study', name, known)}")
    rest = {key: item for key, item in own.items() if key != "instruments"}
    special = instruments.get(study, {})
    return rest | {"instrument": _merge(rest.get("instrument", {}), special)} if special else rest


def _rules(manifest: Mapping[str, Any]) -> list[Any]:
    rules = manifest.get("levels", [])
    return rules if isinstance(rules, list) else [rules]


def over(experiment: Experiment, study: Study) -> Study:
    """The study with all that it leaves to the experiment."""
    return study.model_copy(
        update={
            "baseline": study.baseline or experiment.baseline,
            "parameters": experiment.parameters | study.parameters,
            "margin_pct": study.margin_pct or experiment.margin_pct,
            "gates": _merge(experiment.gates, study.gates),
        }
    )


@cache
def component(name: str, root: Path = ROOT) -> Component:
    """One component's manifest. Raises ManifestError."""
    file = component_folder(name, root) / "component.toml"
    return _validate(Component, read_toml(file), [file])


@cache
def component_folder(name: str, root: Path = ROOT) -> Path:
    """Return a component's folder: among all components, or in the experiment that alone uses it.

    Raises ManifestError for a name that no component has, or several.
    """
    known = sorted(
        file.parent
        for pattern in ("components/*", "experiments/*/components/*")
        for file in root.glob(f"{pattern}/component.toml")
    )
    found = [folder for folder in known if folder.name == name]
    if not found:
        raise ManifestError(no_such("component", name, [folder.name for folder in known]))
    if len(found) > 1:
        raise ManifestError(f"several components are called {name!r}: {', '.join(map(str, found))}")
    return found[0]


def split_target(target: str) -> tuple[str, str | None]:
    """`filters/c-module` → (filters, c-module); `filters` → (filters, None); likewise studies."""
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
        # A field that is missing is the fault of the file that has the table around it.
        path = problem["loc"][:-1] if problem["type"] == "missing" else problem["loc"]
        file = files[0] if own is None or _has(own, path) else files[-1]
        yield f"{file}: {faults.field(problem)}: {faults.in_words(problem)}"


def _has(data: Any, path: tuple[int | str, ...]) -> bool:
    """Return true if `data` has the key that `path` leads to.

    Behind a value, the rest of a path only describes what was expected there, and is ignored.
    """
    for part in path:
        if not isinstance(data, Mapping) or part == "[key]":
            return True
        if part not in data:
            return False
        data = data[part]
    return True
