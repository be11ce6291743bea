"""The closed set of overrides that an experiment or a variant may bring in its hooks.py."""

import importlib.util
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from tare.lab.errors import ManifestError

NAMES = ("oracle", "counters", "audit")


class OracleError(Exception):
    """A started variant does not do its job right."""


class SiteView(Protocol):
    """What a hook may know of a started variant."""

    @property
    def variant(self) -> str:
        """Its name."""

    @property
    def host(self) -> str:
        """The address its ports are on."""

    @property
    def port(self) -> Mapping[str, int]:
        """Name → number."""

    @property
    def tag(self) -> str:
        """A name that no other trial has."""

    @property
    def folder(self) -> Path:
        """The trial's folder, one folder a role in it."""

    @property
    def properties(self) -> Mapping[str, Any]:
        """The variant's `[properties]`."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The trial's parameters."""


class Hooks:
    """The variant's own hooks over the experiment's; an absent one does nothing."""

    def __init__(self, folders: list[Path]) -> None:
        """`folders`: the variant's, then the experiment's."""
        self._modules = [_module(folder / "hooks.py") for folder in folders]

    def oracle(self, site: SiteView) -> None:
        """Raise OracleError when the variant does not do its job."""
        if hook := self._find("oracle"):
            hook(site)

    def counters(self, site: SiteView) -> dict[str, int]:
        """The variant's own counters, empty when it has none."""
        hook = self._find("counters")
        return dict(hook(site)) if hook else {}

    def audit(
        self,
        site: SiteView,
        before: Mapping[str, int],
        after: Mapping[str, int],
        result: Mapping[str, Any],
    ) -> None:
        """Raise OracleError when the counters disagree with what the instrument counted."""
        if hook := self._find("audit"):
            hook(site, before, after, result)

    def _find(self, name: str) -> Callable[..., Any] | None:
        for module in self._modules:
            if module is not None and (hook := getattr(module, name, None)) is not None:
                return hook  # type: ignore[no-any-return]
        return None


@cache
def _module(file: Path) -> ModuleType | None:
    if not file.is_file():
        return None
    name = "tare_hooks_" + "_".join(file.parts[-4:-1]).replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    public = {
        key
        for key, value in vars(module).items()
        if callable(value) and not key.startswith("_") and value.__module__ == name
    }
    if unknown := {key for key in public if not isinstance(vars(module)[key], type)} - set(NAMES):
        raise ManifestError(
            f"{file}: found public functions {', '.join(sorted(unknown))}; "
            f"expected only {', '.join(NAMES)} (a helper's name begins with _)"
        )
    return module
