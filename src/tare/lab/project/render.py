"""Templates: strict Jinja2 over the names of docs/FORMAT.md."""

import traceback
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateSyntaxError,
    meta,
)

from tare.lab.errors import ManifestError


def text(template: str, names: Mapping[str, Any], where: str) -> str:
    """`template` rendered to a string. Raises ManifestError that names `where`."""
    if "{" not in template:
        return template
    try:
        return str(_parsed(template).render(names))
    except Exception as error:  # a template may divide by zero, too
        raise ManifestError(f"{where}: template {template!r}: {error}") from error


def value(template: Any, names: Mapping[str, Any], where: str) -> Any:
    """Tables and lists rendered throughout; a string that is one expression keeps its type."""
    match template:
        case str():
            if (expression := _sole_expression(template)) is not None:
                return _expression(expression, names, where)
            return text(template, names, where)
        case Mapping():
            return {key: value(item, names, f"{where}.{key}") for key, item in template.items()}
        case list():
            return [value(item, names, f"{where}.{index}") for index, item in enumerate(template)]
        case _:
            return template


def parameters(templates: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters rendered: one may be a template over the others. Raises ManifestError."""
    return {key: value(item, templates, key) for key, item in templates.items()}


def condition(expression: str, names: Mapping[str, Any], where: str) -> bool:
    """`expression`, without braces, as true or false. Raises ManifestError that names `where`."""
    return bool(_expression(expression, names, where))


@cache
def names_in(expression: str) -> frozenset[str]:
    """Return the names that an expression without braces uses. Raises TemplateSyntaxError."""
    return frozenset(meta.find_undeclared_variables(_strings().parse("{{" + expression + "}}")))


def file(name: str, folders: list[Path], names: Mapping[str, Any]) -> str:
    """The template file `name`, sought in `folders` in turn unless its path is absolute.

    Raises ManifestError.
    """
    if (own := Path(name)).is_absolute():
        name, folders = own.name, [own.parent, *folders]
    environment = Environment(
        loader=FileSystemLoader(folders), undefined=StrictUndefined, keep_trailing_newline=True
    )
    where = str(folders[0] / name)
    try:
        template = environment.get_template(name)
        where = str(template.filename)
        return template.render(names)
    except TemplateSyntaxError as error:
        raise ManifestError(f"{error.filename} line {error.lineno}: {error.message}") from error
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == where]
        place = f"{where} line {lines[-1]}" if lines else where
        raise ManifestError(f"{place}: {error}") from error


@cache
def _strings() -> Environment:
    return Environment(undefined=StrictUndefined)


@cache
def _parsed(template: str) -> Template:
    return _strings().from_string(template)


@cache
def _compiled(expression: str) -> Callable[..., Any]:
    return _strings().compile_expression(expression, undefined_to_none=False)


def _sole_expression(template: str) -> str | None:
    inner = template.strip()
    if not (inner.startswith("{{") and inner.endswith("}}")):
        return None
    inner = inner[2:-2]
    return inner if "{{" not in inner and "}}" not in inner else None


def _expression(expression: str, names: Mapping[str, Any], where: str) -> Any:
    try:
        found = _compiled(expression)(**names)
    except Exception as error:
        raise ManifestError(f"{where}: expression {expression!r}: {error}") from error
    if isinstance(found, StrictUndefined):
        raise ManifestError(f"{where}: there is no name {expression.strip()!r} to render")
    return found
