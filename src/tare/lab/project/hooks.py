"""The closed set of overrides that an experiment or a variant may bring in its hooks.py."""

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from tare.lab.errors import ManifestError, TareError
from tare.lab.project.time_limit import TimeOver, time_limit
from tare.model.instrument import Result, Total, together
from tare.probes.reading import Reading

NAMES = ("workload", "oracle", "counters", "probe", "audit")


class OracleError(TareError):
    """A started variant does not do its job right."""


class HookError(TareError):
    """A hook that could not do its own job."""


class SiteView(Protocol):
    """The view that a hook has of a started variant."""

    @property
    def variant(self) -> str:
        """Its name."""

    @property
    def study(self) -> str:
        """The study that it is started for."""

    @property
    def host(self) -> str:
        """The address of the roles that no host names: of all, unless they are spread."""

    @property
    def address(self) -> Mapping[str, str]:
        """Port → the address that it is on."""

    @property
    def port(self) -> Mapping[str, int]:
        """Name → number."""

    @property
    def tag(self) -> str:
        """A name that no other trial has."""

    @property
    def folder(self) -> Path:
        """The trial's folder, one folder a role in it."""

    def read(self, role: str, file: str) -> bytes:
        """Return what a file of a role's folder holds by now, which the role may have written on
        another host. Raises FileNotFoundError.
        """

    @property
    def properties(self) -> Mapping[str, Any]:
        """The variant's `[properties]`."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The trial's parameters."""

    @property
    def part(self) -> Mapping[str, Path]:
        """Part → the user's own file in its place, for those that are exchanged."""


class AskedView(SiteView, Protocol):
    """The view of a variant whose instrument can ask (docs/FORMAT.md, `ask`)."""

    def ask(self) -> dict[str, Any]:
        """Send each request of the instrument's spec once, and return the instrument's result with
        the whole `answers`. Raises TareError.
        """


@dataclass(frozen=True)
class Window:
    """One run of the instrument."""

    own: Mapping[str, Any]
    """The parameters that an analysis set for it alone, such as a dose."""
    result: Result


@dataclass(frozen=True)
class Answered:
    """The instrument's answers in a trial."""

    result: Result
    """Of the window whose outcomes are the trial's."""
    windows: Sequence[Window]
    """All of the trial, in order: one, unless an analysis takes several."""

    @property
    def total(self) -> Total:
        """The totals of all windows."""
        return together(window.result.total for window in self.windows)


class Hooks:
    """The variant's own hooks over the experiment's; an absent one does nothing."""

    def __init__(self, folders: list[Path], timeout_s: float) -> None:
        """`folders`: the variant's, then the experiment's. `timeout_s` is each call's limit."""
        self._timeout_s = timeout_s
        self._modules = [_module(folder / "hooks.py") for folder in folders]

    def workload(self, site: SiteView, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Names for the instrument's spec that follow from a window's parameters; empty without."""
        return dict(self._call("workload", site, parameters) or {})

    def oracle(self, site: SiteView) -> None:
        """Raise OracleError when the variant does not do its job, HookError without an oracle."""
        if not any(hasattr(module, "oracle") for module in self._modules):
            raise HookError("there is no oracle: expected a function of that name in hooks.py")
        self._call("oracle", site)

    def counters(self, site: SiteView) -> dict[str, int]:
        """The variant's own counters, empty when it has none. Raises HookError for what is no
        whole number.
        """
        found = dict(self._call("counters", site) or {})
        for name, value in found.items():
            if not isinstance(value, int):
                raise HookError(f"counters: {name}: found {value!r}, expected a whole number")
        return found

    def probe(self, site: SiteView) -> dict[str, Reading]:
        """Return counters and gauges of the variant's own, read at both ends of the instrument's
        window; or none. Raises HookError for what is neither.
        """
        found = dict(self._call("probe", site) or {})
        for name, reading in found.items():
            if not isinstance(reading, Reading):
                raise HookError(
                    f"probe: {name}: found {reading!r}, expected a Counter or a Gauge "
                    "(tare.probes.reading)"
                )
            if not math.isfinite(reading.value):
                raise HookError(f"probe: {name}: found {reading.value}, expected a finite number")
        return found

    def audit(
        self,
        site: SiteView,
        before: Mapping[str, int],
        after: Mapping[str, int],
        answered: Answered,
    ) -> None:
        """Raise OracleError when the counters disagree with what the instrument counted."""
        self._call("audit", site, before, after, answered)

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call the hook of the first module that has it; what it raises becomes a TareError."""
        for module in self._modules:
            if module is not None and (hook := getattr(module, name, None)) is not None:
                where = f"{module.__file__}: {name}"
                try:
                    with time_limit(self._timeout_s):
                        return hook(*arguments)
                except TareError:
                    raise
                except TimeOver as error:
                    raise HookError(
                        f"{where}: not done after {self._timeout_s:g} s; if it needs longer, set "
                        "hook_timeout_s in experiment.toml"
                    ) from error
                except (Exception, SystemExit) as error:
                    raise HookError(f"{where}: {_named(error)}") from error
        return None


@cache
def _module(file: Path) -> ModuleType | None:
    if not file.is_file():
        return None
    name = "tare_hooks_" + "_".join(file.parts[-4:-1]).replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ManifestError(f"{file}: {_named(error)}") from error
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


def _named(error: Exception | SystemExit) -> str:
    return f"{type(error).__name__}: {error}"
