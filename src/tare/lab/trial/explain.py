"""A second window of a trial or duel, in which all sides are looked at: it explains, and does not
count.

To look at processes costs them time, so what is judged is measured before, without it. Where the
profiler may not look, /proc still counts what they do.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tare.lab.errors import RoleError, TareError, Unavailable
from tare.lab.machine.process import Process
from tare.lab.machine.running import RunningProcess
from tare.lab.project import gate_limits
from tare.lab.trial import instrument
from tare.lab.trial.gates.answers import ERRORS
from tare.lab.trial.gates.gate import Conditions
from tare.lab.trial.instrument import Assignment
from tare.lab.trial.observer import observing
from tare.lab.trial.site import Site
from tare.model.instrument import Result
from tare.model.profile import Explained, Profile, Seen
from tare.model.role import INSTRUMENT_ROLE
from tare.probes.activity import activity

ROLE = "profiler"
KERNEL = "kernel"
"""What the kernel's threads are called."""
_SAMPLES_HZ = 4999
"""On each CPU. Odd, so as not to keep step with timers; as the window does not count, many."""


def explain(
    sites: Mapping[str, Site],
    what: Callable[[], Sequence[Assignment]],
    program: Path | str,
) -> Explained | str:
    """Load all sides once more while their processes are looked at; the instrument runs in the
    first site, as does the profiler. Instead of the profiler there may be the reason why there is
    none. A side that is alone has all that the kernel's threads do.

    Return the reason where this fails.
    """
    try:
        return _seen(sites, what(), program)
    except (TareError, OSError) as error:
        first = next(iter(sites.values()))
        first.bench.journal.write("why", f"not explained: {error}")
        return str(error)


def _seen(
    sites: Mapping[str, Site], what: Sequence[Assignment], program: Path | str
) -> Explained | str:
    if isinstance(program, str):
        found = _counted(sites, what, program)
    else:
        try:
            found = _profiled(sites, what, program)
        except Unavailable as reason:
            found = _counted(sites, what, str(reason))
    return found if any(found.requests.values()) else "no request was answered"


def _profiled(sites: Mapping[str, Site], what: Sequence[Assignment], program: Path) -> Explained:
    (side, first), *others = sites.items()
    argv = [str(program), "--no-waits", f"--frequency={_SAMPLES_HZ}", *roles_of(sites)]
    if not others:
        argv.append(f"--kernel-threads={side}/{KERNEL}")
    with observing(first, ROLE, argv) as profiler:
        result = instrument.run(list(sites.values()), what, profiler.follow)
        profile = profiler.answer(Profile, "profile")
    return Explained(requests=_requests(sites, result, profile.window_ns), profile=profile)


def _counted(sites: Mapping[str, Site], what: Sequence[Assignment], reason: str) -> Explained:
    """Return what /proc tells of the window, and the reason why that is all."""
    seen: list[tuple[int, dict[str, dict[str, int]]]] = []

    def on(event: Mapping[str, Any]) -> None:
        if event.get("event") in ("measure", "measured"):
            counts = {name: activity(each.pids()) for name, each in _looked_at(sites)}
            seen.append((time.monotonic_ns(), counts))

    result = instrument.run(list(sites.values()), what, on)
    (began, before), (ended, after) = seen
    roles = {
        name: Seen(counts={key: count - before[name][key] for key, count in counts.items()})
        for name, counts in after.items()
    }
    profile = Profile(period_ns=0, window_ns=ended - began, frames=[], roles=roles)
    requests = _requests(sites, result, profile.window_ns)
    return Explained(requests=requests, profile=profile, only_counted=reason)


def _requests(sites: Mapping[str, Site], result: Result, observed_ns: int) -> dict[str, float]:
    """Return each side's answers, scaled from the instrument's window to the observed time, which
    begins a little later. Raises RoleError where more requests failed than a trial may have: their
    work would count for those that were answered.
    """
    site = next(iter(sites.values()))
    loaded = site.bench.loaded
    limits = gate_limits.limits(loaded.study.gates, site.parameters, loaded.title)
    for found in ERRORS.look(limits, Conditions(result, {}, {}, {})):
        if not found.ok and ERRORS.name not in limits.off:
            raise RoleError(f"errors while it was observed: {found.found}, expected {found.wanted}")
    scale = observed_ns / 1e9 / result.window_s if result.window_s else 0.0
    if len(sites) > 1:
        return {target.name: target.answered * scale for target in result.targets}
    return dict.fromkeys(sites, result.requests * scale)


def roles_of(sites: Mapping[str, Site]) -> Sequence[str]:
    """Return the options that name each side's roles with their processes."""
    return [
        f"--role={name}={','.join(map(str, process.pids()))}" for name, process in _looked_at(sites)
    ]


def _looked_at(sites: Mapping[str, Site]) -> Iterator[tuple[str, Process | RunningProcess]]:
    """Yield each side's roles, called `SIDE/ROLE`."""
    for side, site in sites.items():
        for role, process in site.processes.items():
            if role != INSTRUMENT_ROLE and isinstance(process, Process | RunningProcess):
                yield f"{side}/{role}", process
