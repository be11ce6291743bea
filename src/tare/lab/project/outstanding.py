"""The builds that variants still lack, and about how long they take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tare.lab.project import build, catalog, requirements
from tare.lab.project.catalog import Loaded

CPUS = 2
"""Of the machine on which `about_s` of the manifests was measured."""


@dataclass(frozen=True)
class Outstanding:
    """Variants of experiments, of which some may be built already."""

    wanted: Sequence[tuple[Loaded, Sequence[str]]]

    def builds(self) -> dict[str, int]:
        """Return the seconds of each build that is not in the cache, the longest first.

        Variants that cannot be had on this machine are left out.
        """
        found: dict[str, int] = {}
        for loaded, variants in self.wanted:
            for name in variants:
                if requirements.attainable(requirements.of(loaded, name)):
                    found |= _of_variant(loaded, name)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _of_variant(loaded: Loaded, name: str) -> dict[str, int]:
    manifest = loaded.variants[name]
    found = _of_components(manifest.components)
    if manifest.build is not None and not build.is_variant_built(loaded, name):
        found[f"{loaded.name}-{name}"] = manifest.build.about_s
    return found


def _of_components(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        if not build.is_built(name):
            manifest = catalog.component(name)
            found |= _of_components(manifest.components) | {name: manifest.build.about_s}
    return found
