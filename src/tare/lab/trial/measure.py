"""Runs an instrument against started sites, with probes read at both ends of its window."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tare.lab.machine.hosts.host import Host
from tare.lab.machine.hosts.looking import look
from tare.lab.machine.process import Place
from tare.lab.trial import instrument
from tare.lab.trial.instrument import Assignment, assignments
from tare.lab.trial.site import Site
from tare.model.instrument import Result
from tare.probes.probe import Seen
from tare.probes.reading import Reading

MEASURING = "measuring"
"""Made in the site's folder when the window opens: what acts within it waits for this file."""
Progress = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Snapshot:
    """All probes at one moment."""

    at: float
    seen: Seen
    own: Mapping[str, Reading]
    """What the experiment's own probe reads."""
    took_s: float | None = None
    """How long other hosts took to read them, if roles are on others."""


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

    def without(self, *apart: str) -> "Measurement":
        """Return the measurement without what was read of some roles."""

        def left(seen: Snapshot) -> Snapshot:
            roles = {name: read for name, read in seen.seen.roles.items() if name not in apart}
            return replace(seen, seen=Seen(roles, seen.seen.machine))

        places = {name: place for name, place in self.places.items() if name not in apart}
        return replace(self, opened=left(self.opened), closed=left(self.closed), places=places)

    @property
    def delay_s(self) -> float | None:
        """By how much the window that the probes of other hosts saw may differ from the
        instrument's; None if no roles are on others.
        """
        taken = [each.took_s for each in (self.opened, self.closed) if each.took_s is not None]
        return max(*taken, abs(self.probed_s - self.window_s)) if taken else None

    @property
    def probed_s(self) -> float:
        """The window the probes saw, longer or shorter by the delay of two readings."""
        return self.closed.at - self.opened.at


def measure(site: Site, progress: Progress, own: Mapping[str, Any] | None = None) -> Measurement:
    """One run of the variant's instrument, with the names in `own` over the site's.

    Raises RoleError when it or a role fails or its answer is malformed, and HookError.
    """
    changed = dict(own or {})
    result, watch = observe([site], assignments(site, changed), progress)
    return watch.measurement(0, changed, result)


@dataclass
class Watch:
    """Sites as the probes see them at both ends of an instrument's window, each in their order."""

    sites: Sequence[Site]
    opened: list[Snapshot] = field(default_factory=list)
    closed: list[Snapshot] = field(default_factory=list)
    held: list[Seen] = field(default_factory=list)
    places: list[dict[str, Place]] = field(default_factory=list)

    def open(self) -> None:
        """Read what the window begins with."""
        for site in self.sites:
            (site.folder / MEASURING).touch()
        self.opened = self._snapshots()

    def close(self) -> None:
        """Read what the window ends with, and what takes time to read."""
        self.closed = self._snapshots()
        self.places = [
            {role: each.place for role, each in site.processes.items()} for site in self.sites
        ]
        self.held = self._read(self.closed[0].at, last=True)

    def measurement(self, number: int, own: Mapping[str, Any], result: Result) -> Measurement:
        """Return what was seen of the site of this number, beside an instrument's answer."""
        return Measurement(
            own,
            result,
            self.opened[number],
            self.closed[number],
            self.held[number],
            self.places[number],
        )

    def _snapshots(self) -> list[Snapshot]:
        at = time.monotonic()
        seen = self._read(at, last=False)
        apart = self.sites[0].bench.hosts.apart
        took_s = time.monotonic() - at if apart else None
        return [
            Snapshot(at, each, site.hooks.probe(site), took_s)
            for site, each in zip(self.sites, seen, strict=True)
        ]

    def _read(self, at: float, *, last: bool) -> list[Seen]:
        """Read all sites as one scene: what one uses is not foreign to the other."""
        named: dict[str, tuple[Host, Any]] = {
            f"{number}/{role}": (site.host_of(role), process)
            for number, site in enumerate(self.sites)
            for role, process in site.processes.items()
        }
        seen = look(self.sites[0].bench.hosts.all(), named, at, last=last)
        found: list[Seen] = []
        for number in range(len(self.sites)):
            mark = f"{number}/"
            own = {
                key.removeprefix(mark): read
                for key, read in seen.roles.items()
                if key.startswith(mark)
            }
            found.append(Seen(own, seen.machine))
        return found


def observe(
    sites: Sequence[Site],
    what: Sequence[Assignment],
    progress: Progress,
    *,
    read: Sequence[Site] | None = None,
) -> tuple[Result, Watch]:
    """Run an instrument against sites; return its answer, and the sites as the probes saw them, in
    the order of `read`, if given.

    Raises as `instrument.run`.
    """
    watch = Watch(read or sites)

    def on(event: Mapping[str, Any]) -> None:
        match event.get("event"):
            case "progress":
                progress(event)
            case "measure":
                watch.open()
            case "measured":
                watch.close()

    return instrument.run(sites, what, on), watch
