"""Names in one manifest that must exist in another table: found before a run, not in it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import TemplateSyntaxError

from tare.lab.project import render
from tare.lab.project.index import read_toml, study_names
from tare.model.analysis import Capacity, Slope
from tare.model.exports import GoogleBenchmark
from tare.model.fields import Selection
from tare.model.manifest import Experiment, Variant
from tare.model.study import Factor, Study


@dataclass(frozen=True)
class Known:
    """The names that all studies of an experiment have together."""

    studies: list[str]
    parameters: set[str]
    levels: Mapping[str, list[str]]
    """Factor → levels."""


def known_to(folder: Path) -> Known:
    """Read the names from the manifests of an experiment's folder. Raises ManifestError."""
    names = study_names(folder)
    files = {name: read_toml(folder / "studies" / f"{name}.toml") for name in names}
    tables = [read_toml(folder / "experiment.toml"), *files.values()]
    levels: dict[str, list[str]] = {}
    for table in files.values():
        for factor, item in table.get("factors", {}).items():
            levels.setdefault(factor, []).extend(Factor.model_validate(item).levels)
    parameters = {name for table in tables for name in table.get("parameters", {})}
    return Known(names, parameters, levels)


def of_study(study: Study, experiment: Experiment) -> Iterator[str]:
    """Yield every field that names what is not there: `FIELD: found …, expected …`.

    `study` has all that it leaves to the experiment.
    """
    known, settable = study.parameters, study.settable
    outcomes = {**experiment.outcomes, **study.outcomes}
    yield from _among("quick.parameters", study.quick.parameters if study.quick else [], settable)
    for factor, item in study.factors.items():
        for level, parameters in item.levels.items():
            yield from _among(f"factors.{factor}.levels.{level}", parameters, settable)
    yield from _among("judged", study.judged, outcomes)
    yield from _among("shown", study.shown, outcomes)
    yield from _among("outcomes", study.outcomes, study.named())
    yield from _among("awaited", study.awaited or [], study.judged)
    yield from _among("overview", study.overview, study.reported)
    yield from _analysis(study, known, outcomes)
    if study.exclude:
        yield from _expression("exclude", study.exclude, {*known, "part"})
    if study.google_benchmark:
        yield from _presented(study.google_benchmark, study)
    for field, selections in (
        ("scenarios", study.scenarios),
        ("extended", study.extended),
        ("quick.scenarios", study.quick.scenarios if study.quick else []),
    ):
        for selection in selections:
            yield from _levels(field, selection, study.factors)


def of_variant(variant: Variant, variants: Mapping[str, Variant], known: Known) -> Iterator[str]:
    """Yield the same for a variant; `known` is of its experiment."""
    if variant.baseline is not None:
        yield from _among("baseline", [variant.baseline], variants)
    for name, use in variant.environment.items():
        if use.parameter is not None:
            yield from _among(f"environment.{name}", [use.parameter], known.parameters)
        if use.part is not None:
            yield from _among(f"environment.{name}", [use.part], variant.parts)
    if variant.from_ is not None:
        yield from _among("from", [variant.from_], variants)
    for name, part in variant.parts.items():
        yield from _among(f"parts.{name}.sets", part.sets, known.parameters)
        yield from _among(f"parts.{name}.beside", part.beside, variant.parts)
        yield from _among(f"parts.{name}.studies", part.studies, known.studies)
    names = {"study", "properties", "part"} | known.parameters
    for number, rule in enumerate(variant.levels):
        yield from _expression(f"levels.{number}.when", rule.when, names)
    for factor, settings in variant.differences.items():
        yield from _among("differences", [factor], known.levels)
        for setting, levels in settings.items():
            if factor in known.levels:
                where = f"differences.{factor}: {setting!r}"
                yield from _among(where, levels, known.levels[factor])


def _analysis(study: Study, known: Iterable[str], outcomes: Iterable[str]) -> Iterator[str]:
    found = study.analysis
    yield from _among("analysis.window", [*found.window], {*known, *found.window})
    if isinstance(found, Capacity | Slope):
        yield from _among("analysis.parameter", [found.parameter], known)
    if isinstance(found, Slope):
        yield from _among("analysis.outcome", [found.outcome], outcomes)


def _presented(presented: GoogleBenchmark, study: Study) -> Iterator[str]:
    for field, name in (("real_time", presented.real_time), ("cpu_time", presented.cpu_time)):
        yield from _among(f"google_benchmark.{field}", [name], study.reported)
    for number, each in enumerate(presented.names):
        where = f"google_benchmark.names.{number}"
        yield from _levels(f"{where}.within", each.within, study.factors)
        defaults = {factor: [level] for factor, level in each.defaults.items()}
        yield from _levels(f"{where}.defaults", defaults, study.factors)
        yield from _among(f"{where}.says", each.says, study.factors)


def _expression(field: str, expression: str, known: Iterable[str]) -> Iterator[str]:
    try:
        yield from _among(field, sorted(render.names_in(expression)), known)
    except TemplateSyntaxError as error:
        yield f"{field}: found {expression!r}, expected an expression ({error.message})"


def _levels(
    field: str, named: Mapping[str, list[str]] | Selection, factors: Mapping[str, Factor]
) -> Iterator[str]:
    for factor, levels in named.items():
        if factor not in factors:
            yield _dangling(field, factor, factors)
            continue
        wanted = [levels] if isinstance(levels, str) else levels
        yield from _among(f"{field}.{factor}", wanted, factors[factor].levels)


def _among(field: str, names: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    expected = list(known)
    for name in names:
        if name not in expected:
            yield _dangling(field, name, expected)


def _dangling(field: str, found: str, known: Iterable[str]) -> str:
    return f"{field}: found {found!r}, expected one of: {', '.join(known) or 'none'}"
