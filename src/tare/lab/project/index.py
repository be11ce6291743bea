"""A quick look at the manifests, without validation: what `tare list` shows.

Validating them costs a third of a second, most of it in imports.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.lab.errors import ManifestError
from tare.lab.paths import ROOT


@dataclass(frozen=True)
class Entry:
    """An experiment, from its manifest's head and its folders' names."""

    name: str
    question: str
    baseline: str
    variants: list[str]
    """The baseline first."""
    extended: list[str]
    """Those of them that are measured only where they are named."""
    studies: list["StudyEntry"]
    """Those of `tare run EXPERIMENT` first, in their order."""


@dataclass(frozen=True)
class StudyEntry:
    """A study, from its file's head."""

    name: str
    question: str
    default: bool


def experiment_names(root: Path = ROOT) -> list[str]:
    """Every experiment's name, sorted."""
    return sorted(path.parent.name for path in root.glob("experiments/*/experiment.toml"))


def study_names(folder: Path) -> list[str]:
    """Return the names of an experiment's studies, sorted; `folder` is the experiment's."""
    return sorted(path.stem for path in folder.glob("studies/*.toml"))


def variant_files(folder: Path, outside: Path | None = None) -> list[Path]:
    """Return the manifests of an experiment's variants, and behind them those of the user's own
    folder `outside`, each sorted by name; `folder` is the experiment's.
    """
    found = sorted(folder.glob("variants/*/variant.toml"))
    return found + (sorted(outside.glob(f"{folder.name}/*/variant.toml")) if outside else [])


def entries(root: Path = ROOT, outside: Path | None = None) -> list[Entry]:
    """Every experiment, by name, with the variants of the folder `outside`. Raises ManifestError
    for a file that is not TOML.
    """
    return [_entry(root / "experiments" / name, outside) for name in experiment_names(root)]


def role_names(root: Path = ROOT) -> set[str]:
    """Return the roles that any experiment or one of its variants names. Raises ManifestError."""
    found: set[str] = set()
    for name in experiment_names(root):
        folder = root / "experiments" / name
        for file in (folder / "experiment.toml", *variant_files(folder)):
            head = read_toml(file)
            for table in (head, head.get("variants", {})):  # of one variant, and of all
                roles = table.get("roles", {}) if isinstance(table, dict) else {}
                found |= roles.keys() if isinstance(roles, dict) else set()
    return found


def read_toml(file: Path) -> dict[str, Any]:
    """Raises ManifestError that names the file and the line."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ManifestError(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{file}: not valid TOML: {error}") from error


def _entry(folder: Path, outside: Path | None) -> Entry:
    head = read_toml(folder / "experiment.toml")
    baseline = str(head.get("baseline", ""))
    heads = {path.parent.name: read_toml(path) for path in variant_files(folder, outside)}
    variants = sorted(name for name, own in heads.items() if not own.get("hidden"))
    variants.sort(key=lambda name: name != baseline)
    default = [str(name) for name in head.get("studies", [])]
    names = [*default, *(name for name in study_names(folder) if name not in default)]
    return Entry(
        folder.name,
        str(head.get("question", "")),
        baseline,
        variants,
        [name for name in variants if heads[name].get("extended")],
        [_study(folder, name, name in default) for name in names],
    )


def _study(folder: Path, name: str, default: bool) -> StudyEntry:
    file = folder / "studies" / f"{name}.toml"
    head = read_toml(file) if file.is_file() else {}
    return StudyEntry(name, str(head.get("question", "")), default)
