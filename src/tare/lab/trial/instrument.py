"""One run of an instrument: its program, the events that it prints, and its answer."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tare.lab.errors import RoleError
from tare.lab.machine.process import Started, ending
from tare.lab.project import faults, render
from tare.lab.trial.site import Site
from tare.model.instrument import Result
from tare.model.role import INSTRUMENT_ROLE as ROLE

_TICK_S = 0.2
_SLACK_S = 15.0
_FOUND_MAX = 120
"""Characters of what was found in an answer, as messages have them."""


@dataclass(frozen=True)
class Assignment:
    """An instrument's program, and the spec that it is given for a site."""

    where: str
    argv: list[str]
    cpus: str
    spec: dict[str, Any]


def assignment(site: Site, own: Mapping[str, Any]) -> Assignment:
    """Render the instrument of the site's variant, with the names in `own` over the site's, and
    those of the hook `workload` over both. Raises ManifestError and HookError.
    """
    manifest = site.manifest.instrument
    names = site.names(ROLE) | dict(own)
    names |= site.hooks.workload(site, site.parameters | dict(own))
    where = f"{site.bench.loaded.name}/{site.variant}: instrument"
    argv = [render.text(part, names, where) for part in manifest.argv]
    return Assignment(where, argv, manifest.cpus, render.value(manifest.spec, names, where))


def run(sites: Sequence[Site], what: Assignment, on: Callable[[Mapping[str, Any]], None]) -> Result:
    """Run an instrument in the first site against all of them; `on` is called with each event but
    the result. Raises RoleError when it or a role fails, or its answer is malformed.
    """
    site, spec = sites[0], what.spec
    file = site.deliver(ROLE, "spec.json", json.dumps(spec, indent=1))
    process = site.launch(ROLE, [*what.argv, "--spec", file], what.cpus, {}, piped=True)
    planned = float(spec.get("warmup_s", 0)) + float(spec.get("duration_s", 0))
    answer, seen = None, set()
    for event in _Reader(sites, process, planned + _SLACK_S).events():
        seen.add(event.get("event"))
        if event.get("event") == "result":
            answer = event
        else:
            on(event)
    code = _exit_code(process)
    process.kill()
    site.processes.pop(ROLE)
    if code != 0 or answer is None or not {"measure", "measured"} <= seen:
        for each in sites:
            each.blame()
        lacks = "" if code else ", but without measure, measured and result"
        raise RoleError(f"{what.where} ended with {ending(code)}{lacks}{process.last_words()}")
    return parse(answer, what.where)


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


def _exit_code(process: Started) -> int:
    if (code := process.wait(_SLACK_S)) is None:
        raise RoleError("the instrument closed its output and did not end")
    return code


class _Reader:
    """The instrument's lines as they come, with a watch on the roles and on the time."""

    def __init__(self, sites: Sequence[Site], process: Started, patience_s: float) -> None:
        self._sites, self._process = sites, process
        self._give_up = time.monotonic() + patience_s
        self._patience_s = patience_s
        self._next_look = 0.0

    def events(self) -> Iterator[dict[str, Any]]:
        pending = b""
        while True:
            chunk = self._process.output(_TICK_S)
            if chunk == b"":
                return
            *lines, pending = (pending + (chunk or b"")).split(b"\n")
            for line in lines:
                yield self._parse(line)
            if time.monotonic() >= self._next_look:
                self._watch()

    def _watch(self) -> None:
        self._next_look = time.monotonic() + _TICK_S
        self._sites[0].bench.journal.poll()
        for site in self._sites:
            for role, process in site.processes.items():
                if role != ROLE:
                    process.ensure_alive()
        if time.monotonic() > self._give_up:
            raise RoleError(f"the instrument did not end within {self._patience_s:g} s")

    def _parse(self, line: bytes) -> dict[str, Any]:
        if not line.startswith(b'{"event":"result"') and not line.startswith(b'{"event": "result"'):
            self._sites[0].bench.journal.write(ROLE, line.decode(errors="replace"))
        try:
            event = json.loads(line)
        except json.JSONDecodeError as error:
            raise RoleError(f"the instrument printed {line[:80]!r}, expected JSON") from error
        if not isinstance(event, dict):
            raise RoleError(f"the instrument printed {line[:80]!r}, expected a JSON object")
        return event
