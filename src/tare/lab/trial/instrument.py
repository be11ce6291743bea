"""One run of an instrument: its program or several, and the answer that they give together."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from tare.lab.errors import ManifestError, RoleError
from tare.lab.machine.process import Started, ending
from tare.lab.project import faults, render
from tare.lab.trial.generators import share_of_load
from tare.lab.trial.merging import merged
from tare.lab.trial.said import Said, said
from tare.lab.trial.site import Site, blame
from tare.model.instrument import Result
from tare.model.role import INSTRUMENT_ROLE

_SLACK_S = 15.0
_FOUND_MAX = 120
"""Characters of what was found in an answer, as messages have them."""
On = Callable[[Mapping[str, Any]], None]
"""Is called with events of the instrument protocol."""


@dataclass(frozen=True)
class Assignment:
    """An instrument's program, and the spec that it is given for a site."""

    where: str
    argv: list[str]
    cpus: str
    spec: dict[str, Any]
    role: str = INSTRUMENT_ROLE


def assignments(site: Site, own: Mapping[str, Any]) -> list[Assignment]:
    """Render the instrument of the site's variant, with the names in `own` over the site's, and
    those of the hook `workload` over both: once for each generator, which has its part of the load.

    Raises ManifestError and HookError.
    """
    manifest, roles = site.manifest.instrument, site.generators.roles
    workload = site.hooks.workload(site, site.parameters | dict(own))
    found = []
    for number, role in enumerate(roles):
        names = site.names(role) | dict(own) | workload
        where = f"{site.bench.loaded.name}/{site.variant}: instrument"
        argv = [render.text(part, names, where) for part in manifest.argv]
        spec = render.value(manifest.spec, names, where)
        if len(roles) > 1:
            try:
                spec = share_of_load(spec, number, len(roles))
            except ValueError as fault:
                raise ManifestError(
                    f"{where}: {len(roles)} generators cannot make its load together: {fault}"
                ) from fault
            where = f"{where} {site.generators.title(role)}"
        found.append(Assignment(where, argv, manifest.cpus, spec, role))
    return found


def assignment(site: Site, own: Mapping[str, Any]) -> Assignment:
    """Render the instrument where one generator makes all of the load, as `assignments` does.

    Raises ManifestError for several, too.
    """
    first, *others = assignments(site, own)
    if others:
        raise ManifestError(
            f"{site.bench.loaded.title}: found {len(others) + 1} generators, expected one, which "
            "takes turns between the two sides of a duel"
        )
    return first


def run(sites: Sequence[Site], what: Sequence[Assignment], on: On) -> Result:
    """Run an instrument in the first site against all of them: one program, or several that make
    their parts of the load together. `on` is called with each event but the result; of several
    programs the window opens with the last, and closes with the first.

    Raises RoleError when one or a role fails, or an answer is malformed.
    """
    site, begun = sites[0], _Begun(what, on)
    several = len(what) > 1
    start_file = f"start-{time.monotonic_ns()}"
    processes: dict[str, Started] = {}
    for each in what:
        file, spec = "spec.json", each.spec
        if several:
            folder = site.host_of(each.role).folder(site.folder)
            file, spec = f"{each.role}.json", {**spec, "start_file": str(folder / start_file)}
        path = site.deliver(each.role, file, json.dumps(spec, indent=1))
        argv = [*each.argv, "--spec", path]
        processes[each.role] = site.launch(each.role, argv, each.cpus, {}, piped=True)
    planned = max(
        float(each.spec.get("warmup_s", 0)) + float(each.spec.get("duration_s", 0)) for each in what
    )
    for heard in said(sites, processes, planned + _SLACK_S):
        if heard.event is None:
            _ended(sites, begun.of[heard.role], processes, begun.seen[heard.role])
        elif begun.take(heard):
            site.write_for(list(processes), start_file)
    answers = {each.role: parse(begun.answers[each.role], each.where) for each in what}
    if not several:
        return answers[what[0].role]
    try:
        named = {site.generators.title(role): answer for role, answer in answers.items()}
        return merged(named, start_spread_s=begun.spread_s, overlap_s=begun.overlap_s)
    except ValueError as error:
        raise RoleError(f"the generators' results are not of one load: {error}") from error


@dataclass
class _Begun:
    """The events of an instrument's programs so far."""

    what: Sequence[Assignment]
    on: On
    seen: dict[str, dict[str, float]] = field(init=False)
    """Role → event → when it came."""
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.of = {each.role: each for each in self.what}
        self.seen = {role: {} for role in self.of}

    def take(self, heard: Said) -> bool:
        """Take an event; return True with the one by which all are ready."""
        event = dict(heard.event or {})
        kind = str(event.get("event"))
        self.seen[heard.role].setdefault(kind, heard.at)
        number = sum(kind in each for each in self.seen.values())
        match kind:
            case "result":
                self.answers[heard.role] = event
            case "ready":
                return number == len(self.seen)
            case "measure":
                if number == len(self.seen):
                    self.on(event)
            case "measured":
                if late := [
                    self.of[role] for role, seen in self.seen.items() if "measure" not in seen
                ]:
                    raise RoleError(
                        f"{late[0].where} opened no window before {self.of[heard.role].role} had "
                        "closed its own"
                    )
                if number == 1:
                    self.on(event)
            case "progress":
                self._progress(heard.role, event)
            case _:
                self.on(event)
        return False

    @property
    def spread_s(self) -> float:
        """From the first opening to the last."""
        opened = self._when("measure")
        return max(opened) - min(opened)

    @property
    def overlap_s(self) -> float:
        """From the last opening to the first closing."""
        return max(0.0, min(self._when("measured")) - max(self._when("measure")))

    def _when(self, kind: str) -> list[float]:
        return [each[kind] for each in self.seen.values()]

    def _progress(self, role: str, event: dict[str, Any]) -> None:
        """Pass on the first one's, with the rate of all; quantiles cannot be added."""
        self.rates[role] = float(event.get("rate") or 0.0)
        if len(self.seen) == 1:
            self.on(event)
        elif role == self.what[0].role:
            alike: dict[str, Any] = {
                key: event[key] for key in ("event", "t_s", "phase") if key in event
            }
            self.on({**alike, "rate": sum(self.rates.values())})


def _ended(
    sites: Sequence[Site],
    what: Assignment,
    processes: Mapping[str, Started],
    seen: Mapping[str, float],
) -> None:
    """See that a program that has closed its output ended as it should. Raises RoleError."""
    process = processes[what.role]
    if (code := process.wait(_SLACK_S)) is None:
        raise RoleError(f"{what.where} closed its output and did not end")
    process.kill()
    sites[0].processes.pop(what.role)
    if code != 0 or not {"measure", "measured", "result"} <= seen.keys():
        blame(sites, apart=list(processes))
        lacks = "" if code else ", but without measure, measured and result"
        raise RoleError(f"{what.where} ended with {ending(code)}{lacks}{process.last_words()}")


def parse(answer: Mapping[str, Any], where: str) -> Result:
    """Return the record of a `result` event. Raises RoleError that names `where` and the fields."""
    try:
        return Result.model_validate(answer)
    except ValidationError as error:
        raise RoleError(
            "; ".join(f"{where}: result: {fault}" for fault in _faults(error))
        ) from error


def _faults(error: ValidationError) -> Iterator[str]:
    """Field, what was found, what was expected."""
    for problem in error.errors():
        field = faults.field(problem) or "fields"
        match problem["type"]:
            case "missing":
                yield f"{field}: missing, expected a value"
            case "extra_forbidden":
                yield f"{field}: unknown field"
            case _:
                found = problem["input"]
                named = f"only {', '.join(found)}" if isinstance(found, dict) else repr(found)
                yield f"{field}: found {named[:_FOUND_MAX]}, expected {faults.expected(problem)}"
