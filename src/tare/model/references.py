"""Names in one manifest that must exist in another table: found before a run, not in it."""

from collections.abc import Iterator, Mapping

from tare.model.exports import GoogleBenchmark
from tare.model.fields import Selection
from tare.model.manifest import Experiment, Factor, Variant


def of_experiment(experiment: Experiment) -> Iterator[str]:
    """Every field that names what is not there: `FIELD: found …, expected …`."""
    known = experiment.parameters
    for name in experiment.quick.parameters:
        if name not in known:
            yield _dangling("quick.parameters", name, known)
    for factor, item in experiment.factors.items():
        for level, parameters in item.levels.items():
            for name in parameters:
                if name not in known:
                    yield _dangling(f"factors.{factor}.levels.{level}", name, known)
    for name, outcome in experiment.outcomes.items():
        yield from _levels(f"outcomes.{name}.only", outcome.only, experiment.factors)
        yield from _levels(f"outcomes.{name}.within", outcome.within, experiment.factors)
    for name in experiment.overview:
        if name not in experiment.outcomes:
            yield _dangling("overview", name, experiment.outcomes)
    if capacity := experiment.analysis.capacity:
        yield from _levels("analysis.capacity.only", capacity.only, experiment.factors)
        if capacity.parameter not in known:
            yield _dangling("analysis.capacity.parameter", capacity.parameter, known)
    for number, slope in enumerate(experiment.analysis.slope):
        where = f"analysis.slope.{number}"
        yield from _levels(f"{where}.only", slope.only, experiment.factors)
        if slope.parameter not in known:
            yield _dangling(f"{where}.parameter", slope.parameter, known)
        if slope.outcome not in experiment.outcomes:
            yield _dangling(f"{where}.outcome", slope.outcome, experiment.outcomes)
    if presented := experiment.google_benchmark:
        yield from _presented(presented, experiment)
    for field, selections in (
        ("scenarios", experiment.scenarios),
        ("more", experiment.more),
        ("quick.scenarios", experiment.quick.scenarios),
    ):
        for selection in selections:
            yield from _levels(field, selection, experiment.factors)


def _presented(presented: GoogleBenchmark, experiment: Experiment) -> Iterator[str]:
    for field, name in (("real_time", presented.real_time), ("cpu_time", presented.cpu_time)):
        if name not in experiment.outcomes:
            yield _dangling(f"google_benchmark.{field}", name, experiment.outcomes)
    for number, each in enumerate(presented.names):
        where = f"google_benchmark.names.{number}"
        yield from _levels(f"{where}.within", each.within, experiment.factors)
        usual = {factor: [level] for factor, level in each.usual.items()}
        yield from _levels(f"{where}.usual", usual, experiment.factors)
        for factor in each.says:
            if factor not in experiment.factors:
                yield _dangling(f"{where}.says", factor, experiment.factors)


def of_variant(variant: Variant, experiment: Experiment) -> Iterator[str]:
    """The same for a variant of the experiment."""
    yield from _levels("supports", variant.supports, experiment.factors)
    for factor, reasons in variant.without.items():
        yield from _levels("without", {factor: list(reasons)}, experiment.factors)
    for need in variant.needs:
        yield from _levels("needs.within", need.within, experiment.factors)
    for selection in variant.excludes:
        yield from _levels("excludes", selection, experiment.factors)
    for factor, settings in variant.differences.items():
        for setting, levels in settings.items():
            named = {factor: list(levels)}
            yield from _levels(f"differences: {setting!r}", named, experiment.factors)


def _levels(
    field: str, named: Mapping[str, list[str]] | Selection, factors: Mapping[str, Factor]
) -> Iterator[str]:
    for factor, levels in named.items():
        if factor not in factors:
            yield _dangling(field, factor, factors)
            continue
        for level in [levels] if isinstance(levels, str) else levels:
            if level not in factors[factor].levels:
                yield _dangling(f"{field}.{factor}", level, factors[factor].levels)


def _dangling(field: str, found: str, known: Mapping[str, object]) -> str:
    return f"{field}: found {found!r}, expected one of: {', '.join(known) or 'none'}"
