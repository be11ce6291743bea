"""Everything that must be there before the first trial: packages, builds, versions."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tare.lab.errors import BuildError, ManifestError, Unavailable
from tare.lab.project import build, levels, parts, requirements, versions
from tare.lab.project.build import Built, Say
from tare.lab.project.catalog import Loaded
from tare.model.manifest import LevelRule
from tare.model.scenario import Scenario
from tare.probes.rights import may_load_bpf

_PROFILER = "profile"
"""The component."""
_NO_RIGHT = "BPF programs need root, or CAP_BPF and CAP_PERFMON"


@dataclass(frozen=True)
class Prepared:
    """The variants that are ready, and why the others are not."""

    built: dict[str, Built] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    lacking: dict[str, list[tuple[LevelRule, str]]] = field(default_factory=dict)
    """What single levels of a variant need and is not to be had, and why."""
    profiler: Path | str | None = None
    """The program that looks at processes, where it is asked for; or the reason why it cannot be
    had.
    """
    observer: Path | None = None
    """The program that looks at the slowest requests, where it is asked for and to be had."""

    def unavailable_in(self, scenario: Scenario, loaded: Loaded, variant: str) -> str | None:
        """Return why the variant cannot be measured in the scenario, or None if it can."""
        if reason := levels.unsupported(loaded, variant, scenario):
            return reason
        if reason := self.unavailable.get(variant):
            return reason
        lacking = self.lacking.get(variant, ())
        here = list(levels.matching(loaded, variant, scenario.parameters)) if lacking else []
        return next((reason for rule, reason in lacking if rule in here), None)

    def why_not(self, variant: str) -> str | None:
        """Return why the variant cannot be started, or None."""
        return self.unavailable.get(variant) or self.failed.get(variant)

    def builds(self) -> dict[str, str]:
        """The exact identity of each build: its name and the hash of what it was made of."""
        own = {variant: built.own for variant, built in self.built.items() if built.own}
        return {name: place.name for name, place in sorted((own | self._components()).items())}

    def component_versions(self) -> dict[str, str]:
        """Return the version that each component reported when it was built."""
        return {name: build.version_of(place) for name, place in sorted(self._components().items())}

    def _components(self) -> dict[str, Path]:
        return {
            name: place for built in self.built.values() for name, place in built.components.items()
        }


def prepare(
    loaded: Loaded, variants: Iterable[str], say: Say, scenarios: Sequence[Scenario] = ()
) -> Prepared:
    """Install, build and read versions. One variant's failure does not affect the others.

    Requirements of single levels are met for the levels of `scenarios`.
    """
    prepared = Prepared()
    for name in variants:
        try:
            requirements.meet(requirements.of(loaded, name), say)
            built = build.variant(loaded, name, say)
            prepared.versions[name] = _version(loaded, name, built)
            prepared.lacking[name] = _meet_rules(loaded, name, built, scenarios, say)
            prepared.built[name] = built
        except Unavailable as reason:
            prepared.unavailable[name] = str(reason)
        except (BuildError, ManifestError) as error:
            prepared.failed[name] = str(error)
    return prepared


def profiler(say: Say) -> Path | str:
    """Return the program that looks at processes, or the reason why it cannot be had."""
    if not may_load_bpf():
        return _NO_RIGHT
    try:
        requirements.meet(requirements.of_components([_PROFILER]), say)
        return build.component(_PROFILER, say) / "bin" / "tare-profile"
    except (Unavailable, BuildError) as reason:
        return str(reason)


def with_observers(
    prepared: Prepared, say: Say, *, why: bool = False, tail: bool = False
) -> Prepared:
    """Return it with the programs that look at processes, those that a plan asks for. The reason
    why they cannot be had is said.
    """
    if not (why or tail):
        return prepared
    found, observer = profiler(say), None
    if isinstance(found, Path):
        observer = observer_beside(found)
    elif why:
        say(f"--why: {found}; only what /proc counts is compared")
    if tail and isinstance(found, str):
        say(f"--tail: {found}; the slowest requests are not looked at")
    return replace(prepared, profiler=found if why else None, observer=observer if tail else None)


def observer_beside(profiler: Path) -> Path:
    """Return the program that looks at the slowest requests, which is built with the profiler."""
    return profiler.with_name("tare-tail")


def _meet_rules(
    loaded: Loaded, name: str, built: Built, scenarios: Sequence[Scenario], say: Say
) -> list[tuple[LevelRule, str]]:
    """Meet what these scenarios' levels need; return the rules that cannot be met, and why."""
    lacking = []
    for rule in _rules(loaded, name, scenarios):
        try:
            requirements.meet(requirements.of_rule(rule), say)
            built.components.update(build.components(rule.components, say))
        except Unavailable as reason:
            lacking.append((rule, str(reason)))
    return lacking


def _rules(loaded: Loaded, name: str, scenarios: Sequence[Scenario]) -> list[LevelRule]:
    """Return the rules of the scenarios that the variant supports, each once."""
    found: list[LevelRule] = []
    for scenario in scenarios:
        if levels.unsupported(loaded, name, scenario) is None:
            here = levels.matching(loaded, name, scenario.parameters)
            found += [rule for rule in here if rule not in found]
    return found


def _version(loaded: Loaded, name: str, built: Built) -> str:
    where = f"{loaded.variant_folder(name) / 'variant.toml'}: version"
    own = versions.read(
        loaded.variants[name].version, build.names(built.components, built.own), where
    )
    return parts.version(loaded, name, own)


def fingerprint(loaded: Loaded, prepared: Prepared) -> str:
    """Return a digest of the experiment's files but for its READMEs, of the user's own ones that
    are prepared, and of all builds.
    """
    total = hashlib.sha256()
    folders = {loaded.variant_folder(variant) for variant in prepared.built}
    outside = {folder for folder in folders if not folder.is_relative_to(loaded.folder)}
    for folder in (loaded.folder, *sorted(outside)):
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.name != "README.md" and "__pycache__" not in file.parts:
                total.update(f"{file.relative_to(folder)}\0".encode())
                total.update(hashlib.sha256(file.read_bytes()).digest())
    for name, own in sorted(loaded.parts.items()):
        total.update(f"{name}\0{own.sha256}\0".encode())
    for variant, built in sorted(prepared.built.items()):
        places = [*built.components.values(), *([built.own] if built.own else [])]
        total.update("\0".join([variant, *(place.name for place in places)]).encode())
    return total.hexdigest()
