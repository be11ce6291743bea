"""Variables of the environment that `tare up` takes (`[environment]` of a manifest)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tare.lab.errors import TareError
from tare.lab.project.catalog import Loaded


@dataclass(frozen=True)
class Taken:
    """The use of variables: files in the place of parts, values of parameters, and a sentence on
    each.
    """

    parts: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def take(
    loaded: Loaded, variant: str, found: Mapping[str, str], given: Collection[str] = ()
) -> Taken:
    """Return what the variant takes of the variables, but for parts and parameters that are given.

    Raises UnknownName, and TareError for a variable that only other variants take.
    """
    loaded.choose([variant])
    manifest, taken = loaded.variants[variant], Taken()
    for other, each in loaded.variants.items():
        if strange := sorted(each.environment.keys() & found.keys() - manifest.environment.keys()):
            raise TareError(
                f"{strange[0]} is set, and {loaded.name}/{variant} does not take it; "
                f"unset it, or start {loaded.name}/{other}"
            )
    for name, use in manifest.environment.items():
        if name not in found:
            continue
        for chosen, values in ((use.parameter, taken.parameters), (use.part, taken.parts)):
            if chosen in given:
                taken.remarks.append(
                    f"{name} is set, and not taken: {chosen} is given by an option"
                )
            elif chosen is not None:
                values[chosen] = found[name]
                taken.remarks.append(f"{name} is set: {chosen} is {found[name]}")
    return taken


def ignored(loaded: Loaded, found: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable that `tare up` would take, and `tare run` does not."""
    every = loaded.variants.values()
    uses = {name: use for each in every for name, use in each.environment.items()}
    return [
        f"{name} is set, and tare run does not take it; "
        + (f"use -p {use.parameter}=…" if use.parameter else f"use --{use.part} FILE")
        for name, use in uses.items()
        if name in found
    ]
