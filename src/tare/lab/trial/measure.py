"""Runs an instrument against a started site, with probes read at both ends of its window."""

import json
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tare.lab.errors import RoleError
from tare.lab.machine.process import Place, Process, ending
from tare.lab.project import render
from tare.lab.trial.site import Site
from tare.model.instrument import Result
from tare.model.role import INSTRUMENT_ROLE as ROLE
from tare.probes import registry
from tare.probes.probe import Scene, Seen
from tare.probes.reading import Reading

MEASURING = "measuring"
"""Made in the site's folder when the window opens: what acts within it waits for this file."""
_TICK_S = 0.2
_SLACK_S = 15.0
_FOUND_MAX = 120
"""Characters of what was found in an answer, as messages have them."""
Progress = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Snapshot:
    """All probes at one moment."""

    at: float
    seen: Seen
    own: Mapping[str, Reading]
    """What the experiment's own probe reads."""


@dataclass(frozen=True)
class Measurement:
    """An instrument's answer, and the probes' readings over its window."""

    own: Mapping[str, Any]
    """The parameters that were set for this window alone."""
    result: Result
    opened: Snapshot
    closed: Snapshot
    held: Seen
    """What is read when the window has closed, and only then."""
    places: dict[str, Place]

    @property
    def window_s(self) -> float:
        """The instrument's own window."""
        return self.result.window_s

    @property
    def probed_s(self) -> float:
        """The window the probes saw, longer or shorter by the delay of two readings."""
        return self.closed.at - self.opened.at


def measure(site: Site, progress: Progress, own: Mapping[str, Any] | None = None) -> Measurement:
    """One run of the variant's instrument, whose spec may use the names in `own` over the site's,
    and those of the hook `workload` over both.

    Raises RoleError when it or a role fails or its answer is malformed, and HookError.
    """
    manifest = site.manifest.instrument
    changed = dict(own or {})
    names = site.names(ROLE) | changed
    names |= site.hooks.workload(site, site.parameters | changed)
    where = f"{site.bench.loaded.name}/{site.variant}: instrument"
    spec = render.value(manifest.spec, names, where)
    file = site.folder / "spec.json"
    file.write_text(json.dumps(spec, indent=1))
    argv = [render.text(part, names, where) for part in manifest.argv] + ["--spec", str(file)]
    process = site.launch(ROLE, argv, manifest.cpus, {}, stdout=subprocess.PIPE)
    planned = float(spec.get("warmup_s", 0)) + float(spec.get("duration_s", 0))
    reader = _Reader(site, process, planned + _SLACK_S)
    opened = closed = answer = None
    held = Seen()
    for event in reader.events():
        match event.get("event"):
            case "progress":
                progress(event)
            case "measure":
                (site.folder / MEASURING).touch()
                opened = _snapshot(site)
            case "measured":
                closed = _snapshot(site)
                held = registry.read_last(_scene(site, closed.at))
            case "result":
                answer = event
    places = {role: each.place for role, each in site.processes.items()}
    code = _exit_code(process)
    process.kill()
    site.processes.pop(ROLE)
    if code != 0 or answer is None or opened is None or closed is None:
        site.blame()
        lacks = "" if code else ", but without measure, measured and result"
        raise RoleError(f"{where} ended with {ending(code)}{lacks}{process.last_words()}")
    return Measurement(changed, parse(answer, where), opened, closed, held, places)


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
        field = ".".join(str(part) for part in problem["loc"]) or "fields"
        match problem["type"]:
            case "missing":
                yield f"{field}: missing, expected a value"
            case "extra_forbidden":
                yield f"{field}: unknown field"
            case _:
                found = problem["input"]
                named = f"only {', '.join(found)}" if isinstance(found, dict) else repr(found)
                expected = problem["msg"].removeprefix("Input should be ")
                yield (
                    f"{field}: found {named[:_FOUND_MAX]}, "
                    f"expected {expected.removeprefix('Value error, ')}"
                )


def _exit_code(process: Process) -> int:
    try:
        return process.child.wait(_SLACK_S)
    except subprocess.TimeoutExpired as error:
        raise RoleError("the instrument closed its output and did not end") from error


def _snapshot(site: Site) -> Snapshot:
    at = time.monotonic()
    return Snapshot(at, registry.read(_scene(site, at)), site.hooks.probe(site))


def _scene(site: Site, at: float) -> Scene:
    return Scene(at, site.processes, site.bench.cpus.tested)


class _Reader:
    """The instrument's lines as they come, with a watch on the roles and on the time."""

    def __init__(self, site: Site, process: Process, patience_s: float) -> None:
        self._site, self._process = site, process
        self._give_up = time.monotonic() + patience_s
        self._patience_s = patience_s
        self._next_look = 0.0

    def events(self) -> Any:
        stream = self._process.child.stdout
        assert stream is not None
        pending = b""
        with selectors.DefaultSelector() as selector, stream:
            selector.register(stream, selectors.EVENT_READ)
            while True:
                if selector.select(_TICK_S):
                    chunk = stream.read1()  # type: ignore[attr-defined]
                    if not chunk:
                        return
                    *lines, pending = (pending + chunk).split(b"\n")
                    for line in lines:
                        yield self._parse(line)
                if time.monotonic() >= self._next_look:
                    self._watch()

    def _watch(self) -> None:
        self._next_look = time.monotonic() + _TICK_S
        self._site.bench.journal.poll()
        for role, process in self._site.processes.items():
            if role != ROLE:
                process.ensure_alive()
        if time.monotonic() > self._give_up:
            raise RoleError(f"the instrument did not end within {self._patience_s:g} s")

    def _parse(self, line: bytes) -> dict[str, Any]:
        if not line.startswith(b'{"event":"result"') and not line.startswith(b'{"event": "result"'):
            self._site.bench.journal.write(ROLE, line.decode(errors="replace"))
        try:
            event = json.loads(line)
        except json.JSONDecodeError as error:
            raise RoleError(f"the instrument printed {line[:80]!r}, expected JSON") from error
        if not isinstance(event, dict):
            raise RoleError(f"the instrument printed {line[:80]!r}, expected a JSON object")
        return event
