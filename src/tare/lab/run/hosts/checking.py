"""Look at the hosts of a file before anything is measured on them."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from tare.lab.errors import TareError
from tare.lab.machine.hosts import agent
from tare.lab.machine.hosts.remote import Remote
from tare.lab.machine.ledger import Ledger
from tare.lab.run.benches import sources
from tare.lab.run.hosts.here import HERE
from tare.lab.run.hosts.opening import ENTRY, differing, network
from tare.lab.run.hosts.spread import unknown_roles
from tare.lab.trial.bench import LEDGER, tag_of
from tare.model.base import Record
from tare.model.hosts import HostsFile

Ask = Callable[..., Any]
_CLOCKS = 30


class Clock(Record):
    """The lead of a host's clock over this machine's, by the quickest of many answers."""

    ahead_us: float
    error_us: float
    """Half of that answer's time: the offset may be wrong by so much."""


class HostSeen(Record):
    """One host."""

    name: str
    control: str
    address: str
    troubles: list[str] = []
    """Why no run can use it; empty if one can."""
    remarks: list[str] = []
    """What may make its figures worse."""
    kernel: str | None = None
    cpu: str | None = None
    cpus: list[int] = []
    control_groups: str | None = None
    clock: Clock | None = None
    round_trips_us: dict[str, float] = {}
    """Another host → the least round trip to it, by their traffic addresses."""


def check(file: HostsFile) -> list[HostSeen]:
    """Return what is found of every host. Raises TareError when the network cannot be made."""
    with ExitStack() as ending:
        home = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="tare-hosts-")))
        tag = tag_of("hosts", home)
        ledger = ending.enter_context(closing(Ledger(home / LEDGER, tag, None, guarded=True)))
        ending.callback(network(file, tag, ledger))
        known: dict[str, Ask] = {}
        found = {}
        for name, place in file.hosts.items():
            head = {"name": name, "control": place.control, "address": str(place.address)}
            try:
                known[name] = _reached(file, name, ending)
                found[name] = HostSeen(**head, **_seen(known[name]))
            except TareError as error:
                known.pop(name, None)
                found[name] = HostSeen(**head, troubles=[str(error)])
        for name, why in unknown_roles(file):
            seen = found[name]
            found[name] = seen.model_copy(update={"troubles": [*seen.troubles, why]})
        return [
            _with_links(each, file, known) if name in known else each
            for name, each in found.items()
        ]


def _reached(file: HostsFile, name: str, ending: ExitStack) -> Ask:
    place = file.hosts[name]
    if not (place.ssh or place.namespace):
        return lambda question, *arguments: HERE[question](*arguments)
    remote = Remote(name, place, ENTRY)
    ending.callback(remote.close)
    remote.connect()
    return remote.ask


def _seen(ask: Ask) -> dict[str, Any]:
    mine, facts = agent.facts(), ask("facts")
    troubles = list(differing(mine, facts))
    if ask("sources") != sources.of_laboratory():
        troubles.append("its files of the laboratory differ; bring both to the same commit")
    remarks = [
        f"{title} is {facts[key]}, here {mine[key]}"
        for key, title in (("kernel", "the kernel"), ("cpu", "the CPU"), ("python", "Python"))
        if facts[key] != mine[key]
    ]
    if facts["control_groups"] == "none":
        remarks.append("no control groups: limits cannot be set, and other programs disturb more")
    if busy := ask("busy"):
        remarks.append(f"other processes use its CPUs: {busy}")
    return {
        "troubles": troubles,
        "remarks": remarks,
        "kernel": facts["kernel"],
        "cpu": facts["cpu"],
        "cpus": facts["cpus"],
        "control_groups": facts["control_groups"],
        "clock": _clock(ask),
    }


def _clock(ask: Ask) -> Clock:
    quickest, ahead = float("inf"), 0.0
    for _ in range(_CLOCKS):
        before, began = time.time(), time.perf_counter()
        there = ask("clock")
        took = time.perf_counter() - began
        if took < quickest:
            quickest, ahead = took, there - before - took / 2
    return Clock(ahead_us=ahead * 1e6, error_us=quickest / 2 * 1e6)


def _with_links(seen: HostSeen, file: HostsFile, known: Mapping[str, Ask]) -> HostSeen:
    trips, troubles = _links(file, seen.name, known)
    own = {"round_trips_us": trips, "troubles": [*seen.troubles, *troubles]}
    return seen.model_copy(update=own)


def _links(
    file: HostsFile, name: str, known: Mapping[str, Ask]
) -> tuple[dict[str, float], list[str]]:
    """Return the round trips from one host to all others, and why there is no way to some."""
    seen: dict[str, float] = {}
    troubles = []
    own = str(file.hosts[name].address)
    for other, ask in known.items():
        if other == name:
            continue
        address = str(file.hosts[other].address)
        try:
            port = ask("open_door", address)
            try:
                seen[other] = known[name]("round_trip_us", own, address, port)
            finally:
                ask("close_door", port)
        except (TareError, OSError) as error:
            troubles.append(f"no way to {other} ({address}): {error}")
    return seen, troubles


def described(seen: HostSeen) -> Iterator[str]:
    """Say in lines what a host is."""
    yield f"{seen.name}: {seen.address}, by {seen.control}"
    if seen.clock is not None:
        yield f"  {seen.cpu}, CPUs {seen.cpus}, kernel {seen.kernel}"
        yield (
            f"  its clock is {seen.clock.ahead_us:+.0f} µs from this machine's, "
            f"known to {seen.clock.error_us:.0f} µs; control groups: {seen.control_groups}"
        )
    if seen.round_trips_us:
        trips = ", ".join(f"{name} {value:.0f} µs" for name, value in seen.round_trips_us.items())
        yield f"  round trip to {trips}"
    yield from (f"  note: {remark}" for remark in seen.remarks)
    yield from (f"  trouble: {trouble}" for trouble in seen.troubles)
