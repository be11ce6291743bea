"""Templates: strict Jinja2 over the names of docs/FORMAT.md."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from tare.lab.errors import ManifestError


def text(template: str, names: Mapping[str, Any], where: str) -> str:
    """`template` rendered to a string. Raises ManifestError that names `where`."""
    if "{" not in template:
        return template
    try:
        return str(_strings().from_string(template).render(names))
    except TemplateError as error:
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
            return [value(item, names, where) for item in template]
        case _:
            return template


def file(name: str, folders: list[Path], names: Mapping[str, Any]) -> str:
    """The template file `name`, sought in `folders` in turn. Raises ManifestError."""
    environment = Environment(
        loader=FileSystemLoader(folders), undefined=StrictUndefined, keep_trailing_newline=True
    )
    try:
        return environment.get_template(name).render(names)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        where = f"{folders[0] / name}" + (f" line {line}" if line else "")
        raise ManifestError(f"{where}: {error}") from error


@cache
def _strings() -> Environment:
    return Environment(undefined=StrictUndefined)


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
    except TemplateError as error:
        raise ManifestError(f"{where}: expression {expression!r}: {error}") from error
    if isinstance(found, StrictUndefined):
        raise ManifestError(f"{where}: there is no name {expression.strip()!r} to render")
    return found
