"""Variables of the environment that `tare up` takes (`[environment]` of a manifest)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tare.lab.errors import TareError
from tare.lab.project.catalog import Loaded


def take(loaded: Loaded, variant: str, found: Mapping[str, str]) -> tuple[Loaded, dict[str, str]]:
    """Return the experiment whose variant's roles have the files that variables name, and the
    parameters that variables set.

    Raises UnknownName, and TareError for a variable that only other variants take.
    """
    loaded.choose([variant])
    manifest = loaded.variants[variant]
    for other, each in loaded.variants.items():
        if strange := sorted(each.environment.keys() & found.keys() - manifest.environment.keys()):
            raise TareError(
                f"{strange[0]} is set, and {loaded.name}/{variant} does not take it; "
                f"unset it, or start {loaded.name}/{other}"
            )
    parameters, roles = {}, dict(manifest.roles)
    for name, use in manifest.environment.items():
        if name not in found:
            continue
        if use.parameter is not None:
            parameters[use.parameter] = found[name]
        if use.file_of is not None:
            role = roles[use.file_of]
            # The path is no template: a string within one stands for itself.
            env = role.env | {name: f"{{{{ {str(Path(found[name]).resolve())!r} }}}}"}
            roles[use.file_of] = role.model_copy(update={"env": env})
    if roles == manifest.roles:
        return loaded, parameters
    changed = manifest.model_copy(update={"roles": roles})
    return replace(loaded, variants=loaded.variants | {variant: changed}), parameters
