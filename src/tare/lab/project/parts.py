"""Exchange parts of variants for a user's own files."""

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from tare.lab import paths
from tare.lab.errors import TareError, UnknownName
from tare.lab.project import in_use, part_kinds
from tare.lab.project.catalog import Loaded
from tare.lab.project.levels import unsupported_with
from tare.model.part import Exchanged, Part


def names(loaded: Loaded) -> list[str]:
    """Return the names of all parts of the experiment's variants."""
    return list(dict.fromkeys(name for each in loaded.variants.values() for name in each.parts))


def also(loaded: Loaded) -> str:
    """Return the same in words, to end a list of parameters with; empty without any."""
    found = ", ".join(names(loaded))
    return f"; and parts: {found}" if found else ""


def takers(loaded: Loaded, name: str, given: Collection[str]) -> list[str]:
    """Return the variants in which a part can be exchanged in this study, with all that is given.

    Hidden ones are left out.
    """
    return [
        variant
        for variant, each in loaded.variants.items()
        if not each.hidden and _exchangeable(loaded, variant, name, given)
    ]


def exchange(loaded: Loaded, given: Mapping[str, str], variants: Iterable[str]) -> Loaded:
    """Return the experiment with the parts of these variants exchanged for the given files.

    Each file is copied aside: one that is built anew meanwhile does not change what is measured.
    Raises TareError for a file that does not fit, and UnknownName where no variant takes a part.
    """
    chosen, found = list(variants), {}
    for name, file in given.items():
        taking = [each for each in chosen if _exchangeable(loaded, each, name, given)]
        if not taking:
            raise UnknownName(
                f"{name}: no chosen variant of {loaded.title} can exchange it; "
                f"{_who_can(loaded, name)}"
            )
        content = _content(name, file, [loaded.variants[each].parts[name] for each in taking])
        found[name] = Exchanged(
            file=str(Path(file).absolute()),
            bytes=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            build_id=part_kinds.build_id(content),
            variants=taking,
        )
        _keep(found[name], content)
    # What a manifest says of its own files is not true of others.
    changed = {
        each: loaded.variants[each].model_copy(update={"differences": {}})
        for own in found.values()
        for each in own.variants
    }
    return replace(loaded, parts=found, variants=loaded.variants | changed)


def again(loaded: Loaded, stored: Mapping[str, Exchanged]) -> Loaded:
    """Return the experiment with the parts that a run was planned with. Raises TareError if a file
    is not what it was, and its copy is gone.
    """
    given = {
        name: str(place) if (place := _place(own)).is_file() else own.file
        for name, own in stored.items()
    }
    variants = dict.fromkeys(each for own in stored.values() for each in own.variants)
    made = exchange(loaded, given, variants)
    for name, own in stored.items():
        if made.parts[name].sha256 != own.sha256:
            raise TareError(
                f"{name}: {own.file} has changed since the run was planned; begin a new run"
            )
    return replace(made, parts=stored)


def files(loaded: Loaded, variant: str) -> dict[str, Path]:
    """Return part → the copy of the user's file that the variant uses in its place."""
    return {name: _place(own) for name, own in loaded.parts.items() if variant in own.variants}


def levels(loaded: Loaded) -> dict[str, object]:
    """Return how scenarios are told from those of the variants' own files: part → the file's name,
    and the parameters that parts set.
    """
    found: dict[str, object] = {}
    for name, own in loaded.parts.items():
        for variant in own.variants:
            found |= loaded.variants[variant].parts[name].sets
        found[name] = own.name
    return found


def version(loaded: Loaded, variant: str, own: str) -> str:
    """Return a variant's version, the files in the place of its parts included."""
    exchanged = [
        f"{name} {each.name} {each.digest}"
        for name, each in loaded.parts.items()
        if variant in each.variants
    ]
    return f"{own} with {', '.join(exchanged)}" if exchanged else own


def remarks(exchanged: Mapping[str, Exchanged]) -> list[str]:
    """Return a sentence for each part that was exchanged."""
    return [
        f"{name} of {', '.join(own.variants)} is {own.file} "
        f"({own.bytes} bytes, SHA-256 {own.digest}"
        + (f", build ID {own.build_id})" if own.build_id else ")")
        for name, own in exchanged.items()
    ]


def _exchangeable(loaded: Loaded, variant: str, name: str, given: Collection[str]) -> bool:
    part = loaded.variants[variant].parts.get(name)
    if part is None or unsupported_with(loaded, variant, given):
        return False
    alone = not part.beside or any(other in given for other in part.beside)
    return alone and (not part.studies or loaded.study_name in part.studies)


def _who_can(loaded: Loaded, name: str) -> str:
    having = {
        variant: each.parts[name]
        for variant, each in loaded.variants.items()
        if name in each.parts and not unsupported_with(loaded, variant, [name])
    }
    if not having:
        return f"its parts are: {', '.join(names(loaded)) or 'none'}"
    first = next(iter(having.values()))
    studies = f" in {' and '.join(first.studies)}" if first.studies else ""
    beside = sorted({other for part in having.values() for other in part.beside})
    return f"{', '.join(having)} can{studies}" + (
        f", beside {' or '.join(f'--{each}' for each in beside)}" if beside else ""
    )


def _content(name: str, file: str, parts: Iterable[Part]) -> bytes:
    """Read a file that fits all of these parts. Raises TareError."""
    wanted = list(parts)
    where, remedy = f"{name} {file}", wanted[0].remedy
    path = Path(file)
    if not path.exists():
        raise TareError(f"{where}: there is no such file; {remedy}")
    if not path.is_file():
        raise TareError(f"{where}: it is no file; {remedy}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TareError(f"{where}: it cannot be read: {error.strerror}") from error
    for part in wanted:
        if why := part_kinds.fault(part.kind, content, part.needs):
            raise TareError(f"{where}: {why}; {part.remedy}")
    return content


def _place(own: Exchanged) -> Path:
    return paths.parts() / own.sha256 / own.name


def _keep(own: Exchanged, content: bytes) -> None:
    place = _place(own)
    while not in_use.hold(place):
        _write(place, content)


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{os.getpid()}-{place.name}")
    temporary.write_bytes(content)
    # Roles may run as another user than root.
    temporary.chmod(0o755)
    temporary.replace(place)
