"""The studies that a command line of `tare run` reaches, and the options that reach each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from tare.lab.errors import UnknownName
from tare.lab.project import catalog, parts
from tare.lab.project.catalog import Loaded
from tare.lab.project.index import experiment_names
from tare.model.fields import close_match
from tare.model.scenario import expand, parse_selection


@dataclass(frozen=True)
class Request:
    """One study to run, with the options that reach it."""

    loaded: Loaded
    scenarios: list[str]
    overrides: dict[str, Any]


@dataclass(frozen=True)
class Reach:
    """The studies to run, and a note for each option that does not reach all of them."""

    requests: list[Request] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def studies(target: str | None, *, quick: bool, outside: Path | None = None) -> list[Loaded]:
    """Return the studies of EXPERIMENT[/STUDY]; without a study its default ones, of these with
    `quick` those that have a quick version; without a target the first such of every experiment.
    `outside` is the user's folder of further variants.

    Raises ManifestError, and UnknownName.
    """
    found = []
    for name in experiment_names() if target is None else [target]:
        experiment, study = catalog.split_target(name)
        if study is not None:
            found.append(catalog.load(experiment, study, outside=outside))
            continue
        names = catalog.load(experiment, outside=outside).experiment.studies
        every = [catalog.load(experiment, each, outside=outside) for each in names]
        if quick:
            every = [each for each in every if each.study.quick is not None]
        found += every[:1] if target is None else every
    if not found:
        raise UnknownName(f"{target} has no study with a quick version; run it without --quick")
    return found


def reach(found: list[Loaded], scenarios: list[str], overrides: Mapping[str, Any]) -> Reach:
    """Give each study the options that it declares. Raises UnknownName for an option or scenario
    that none of them has.
    """
    made, passed_by = Reach(), []
    for loaded in found:
        fitting = [text for text in scenarios if _has_levels(loaded, text)]
        if scenarios and not fitting:
            passed_by.append(loaded)
        else:
            made.requests.append(Request(loaded, fitting, _declared(loaded, overrides)))
    if not made.requests:
        # The only or the first study says which factors it has.
        made.requests.append(Request(found[0], scenarios, dict(overrides)))
        return made
    for loaded in passed_by:
        made.remarks.append(f"{loaded.title} has no such scenario: not run")
    made.remarks.extend(_remarks([each.loaded for each in made.requests], overrides))
    return made


def _declared(loaded: Loaded, overrides: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in overrides.items() if name in loaded.study.settable}


def _remarks(chosen: list[Loaded], overrides: Mapping[str, Any]) -> list[str]:
    """Return a remark for each option that misses a study. Raises UnknownName if it misses all."""
    found = []
    for name in overrides:
        without = [each.title for each in chosen if name not in each.study.settable]
        if len(without) == len(chosen):
            known = list(dict.fromkeys(key for each in chosen for key in each.study.settable))
            raise UnknownName(
                f"{', '.join(without)}: no parameter {name!r}{_meant(name, known)}; "
                f"there are: {', '.join(known)}{parts.also(chosen[0])}"
            )
        if without:
            found.append(f"{name} does not reach {', '.join(without)}, which does not declare it")
    return found


def _meant(name: str, parameters: list[str]) -> str:
    """Return the closest parameter, or option of the command, in words; empty if none is close."""
    context = click.get_current_context(silent=True)
    options = [] if context is None else context.command.params
    names = [each.lstrip("-") for option in options for each in option.opts]
    return close_match(name, [each for each in (*names, *parameters) if each != name])


def _has_levels(loaded: Loaded, text: str) -> bool:
    if text == "all":
        return True
    try:
        selection = parse_selection(text)
    except ValueError as error:
        raise UnknownName(str(error)) from error
    try:
        return bool(expand(loaded.study.factors, [selection]))
    except ValueError:
        return False
