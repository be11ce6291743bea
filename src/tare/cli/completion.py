"""Completion of names in shells: of experiments, studies, variants and runs."""

from collections.abc import Callable, Iterable

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def targets(*, studies: bool = False, variants: bool = False) -> Complete:
    """Return what completes EXPERIMENT, or a study or variant of it behind a slash."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        from tare.lab.project.index import entries

        found = []
        for entry in entries():
            names = [study.name for study in entry.studies] if studies else []
            names += entry.variants if variants else []
            found += [entry.name, *(f"{entry.name}/{name}" for name in names)]
        if "/" not in incomplete:
            found = [name for name in found if "/" not in name]
        return _matching(found, incomplete)

    return complete


def variants(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last of several variants, joined by commas, of the experiment that is named."""
    from tare.lab.project.index import entries

    # An option without its value yet ends click's reading before it names the arguments.
    words = [context.params.get("target"), *context.args]
    target = next((word for word in words if word), "")
    experiment = target.partition("/")[0]
    known = [name for entry in entries() if entry.name == experiment for name in entry.variants]
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in _matching(known, last)]


def runs(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a stored run, the newest first."""
    from tare.cli.stored_runs import LAST, by_age

    return _matching([LAST, *(folder.name for folder in reversed(by_age()))], incomplete)


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
