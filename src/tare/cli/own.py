"""Files of the user's own in the place of variants' parts."""

from collections.abc import Iterator, Mapping
from typing import Any

from tare.lab.errors import UnknownName
from tare.lab.project import parts
from tare.lab.project.catalog import Loaded
from tare.lab.project.levels import unsupported_with


def split(found: list[Loaded], named: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the options that exchange a part of these studies' variants, and the others."""
    known = {name for loaded in found for name in parts.names(loaded)}
    files = {name: str(value) for name, value in named.items() if name in known}
    return files, {name: value for name, value in named.items() if name not in known}


def exchanged(
    found: list[Loaded], files: Mapping[str, str], variants: list[str] | None
) -> tuple[list[Loaded], list[str]]:
    """Return the studies in which all files are taken, with the parts exchanged, and a remark for
    each study and, unless `variants` are named, each variant that is left out.

    Raises UnknownName where no study is left, and TareError for a file that does not fit.
    """
    made, remarks = [], []
    for loaded in found:
        chosen = loaded.choose(variants)
        lacking = [name for name in files if not {*parts.takers(loaded, name, files)} & {*chosen}]
        if len(found) > 1 and lacking:
            remarks.append(f"{loaded.title} has no {' and no '.join(lacking)} to replace: not run")
        else:
            made.append(parts.exchange(loaded, files, chosen))
            remarks += [] if variants else _left_out(loaded, chosen, files)
    if not made:
        raise UnknownName("; ".join(remarks))
    return made, remarks


def taking(loaded: Loaded) -> list[str]:
    """Return the variants in which a part is exchanged."""
    return list(dict.fromkeys(each for own in loaded.parts.values() for each in own.variants))


def _left_out(loaded: Loaded, chosen: list[str], files: Mapping[str, str]) -> Iterator[str]:
    for name in chosen:
        has_part = loaded.variants[name].parts.keys() & files.keys()
        if has_part and (why := unsupported_with(loaded, name, files)):
            yield f"{loaded.title} without {name}: {why}"
