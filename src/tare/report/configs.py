"""The configuration files of a run: the baseline's whole, the others as differences."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tare.report.folder import RunFolder
from tare.report.titles import short_names

_CONTEXT = 1


@dataclass(frozen=True)
class Config:
    """One file: its content, or the lines in which it differs from another."""

    variant: str
    title: str
    against: str
    """What the lines are a difference to; empty for a whole file."""
    text: str


def configs(folder: RunFolder) -> list[Config]:
    """Return all files as rendered, each content once.

    A variant's file in a further scenario is told by its difference to that in the first, and the
    first by its difference to the baseline's file of that name, if there is one.
    """
    files: Mapping[str, Mapping[str, str]] = folder.environment.get("files", {})
    found = {tuple(key.split(" ", 1)): own for key, own in files.items() if " " in key}
    return list(_all(folder, found))


def _all(folder: RunFolder, files: Mapping[tuple[str, ...], Mapping[str, str]]) -> Iterator[Config]:
    plan = folder.plan
    names = short_names(plan.scenarios)
    seen: set[str] = set()
    first: dict[tuple[str, str], tuple[str, str]] = {}
    """Variant and file → where it stands first, and its content."""
    for variant in plan.variants:
        for scenario in plan.scenarios:
            own = files.get((variant, scenario.name), {})
            for file, content in own.items():
                where = f"{variant}, {names[scenario.name]}: {file}"
                base = first.get((variant, file)) or first.get((plan.baseline_of(variant), file))
                first.setdefault((variant, file), (where, content))
                if content in seen:
                    continue
                seen.add(content)
                if base is None:
                    yield Config(variant, where, "", content)
                else:
                    yield Config(variant, where, base[0], _difference(base[1], content))


def _difference(one: str, other: str) -> str:
    lines = difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=_CONTEXT)
    text = "\n".join(list(lines)[2:])
    return text if len(text) < len(other) else other
