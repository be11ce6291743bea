"""The hosts of a run, from hosts.toml to roles that can be started there."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from tare.lab.errors import TareError
from tare.lab.machine import host
from tare.lab.machine.hosts.agent import facts
from tare.lab.machine.hosts.host import Host, Hosts
from tare.lab.machine.hosts.local import Local
from tare.lab.machine.hosts.remote import Remote
from tare.lab.machine.lan import Lan
from tare.lab.machine.ledger import Ledger
from tare.lab.project.build import Say
from tare.lab.run.benches import sources
from tare.lab.run.hosts.spread import placed
from tare.lab.trial.bench import Bench
from tare.model.hosts import HostsFile, RoleHost
from tare.model.role import INSTRUMENT_ROLE
from tare.model.servers import Servers
from tare.model.trial import Plan

ENTRY = "tare.lab.run.hosts.entry"
_SAME = {
    "root": "the clone's folder",
    "cache": "the folder of builds (TARE_CACHE)",
    "user": "the user",
    "machine": "the processor's kind",
}
_BUILDING_S = 3600.0
_SHOWN = ("kernel", "cpu", "cpu_count", "distribution", "control_groups")


@dataclass(frozen=True)
class Wanted:
    """The wishes of a run to its hosts."""

    file: HostsFile
    plan: Plan
    own: Servers | None
    """The user's servers, if it measures those."""
    fingerprint: str
    """Of the experiment and its builds, here."""
    server_cpus: int
    client_cpus: int
    backend_cpus: int


@dataclass(frozen=True)
class Opened:
    """Hosts that are ready for roles, and what there is to say of them."""

    hosts: Hosts
    remarks: list[str]
    described: dict[str, Any]
    """For environment.json."""


@contextmanager
def opened(bench: Bench, wanted: Wanted, say: Say) -> Iterator[Opened]:
    """Yield a run's hosts, whose agents end with the block. Raises TareError and Unavailable."""
    file = wanted.file
    remarks: list[str] = []
    mine = facts()
    with ExitStack() as ending:
        ending.callback(network(file, bench.tag, bench.ledger))
        found: dict[str, Host] = {}
        for name, place in file.hosts.items():
            if not (place.ssh or place.namespace):
                here = _here(bench, name, place)
                ending.callback(here.close)
                found[name] = here
                continue
            remote = Remote(name, place, ENTRY)
            ending.callback(remote.close)
            say(f"host {name}: connecting by {place.control}")
            remote.connect()
            ready = _ready(remote, mine, bench, wanted)
            remarks += ready()
            remote.opened = ready
            found[name] = remote
        roles = placed(file, wanted.plan, bench.loaded)
        for name in found:
            own = _taken(file, name, roles)
            say(f"host {name} ({file.hosts[name].address}) takes: {', '.join(own) or 'no role'}")
        hosts = Hosts(
            found[file.default],
            {role: found[name] for role, name in roles.items()},
            [found[name] for name in file.loads],
        )
        described = {
            name: _description(each, file.hosts[name], _taken(file, name, roles))
            for name, each in found.items()
        }
        yield Opened(hosts, remarks, described)


def network(file: HostsFile, tag: str, ledger: Ledger) -> Callable[[], None]:
    """Make the file's own network, if it has one; return what takes it away. Raises Unavailable."""
    if file.network is None:
        return lambda: None
    places = [place for place in file.hosts.values() if place.namespace]
    lan = Lan(tag, [str(place.namespace) for place in places])
    lan.refuse_taken()  # before the ledger names it, whose namespaces are removed
    ledger.add_lan(lan)
    lan.create(file.network.address, {str(place.namespace): place.address for place in places})
    return lan.remove


def differing(mine: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """Say what keeps a host from working with this machine."""
    for key, title in _SAME.items():
        if other[key] != mine[key]:
            yield f"{title} is {other[key]} there, expected {mine[key]}, as here"


def _ready(
    remote: Remote, mine: Mapping[str, Any], bench: Bench, wanted: Wanted
) -> Callable[[], list[str]]:
    """Return what makes a host that was reached ready for the run, and returns its remarks."""

    def ready() -> list[str]:
        if fault := next(differing(mine, remote.facts), None):
            raise TareError(f"host {remote.name}: {fault}")
        own = None if wanted.own is None else wanted.own.model_dump_json()
        plan = wanted.plan.model_dump_json()
        found = remote.ask("prepare", plan, own, patience_s=_BUILDING_S)
        if found["sources"] != sources.digest(bench.loaded):
            raise TareError(
                f"host {remote.name}: its files of the laboratory or of {bench.loaded.name} are "
                "not those of this machine; bring both to the same commit"
            )
        for variant in bench.built:
            if why := found["lacking"].get(variant):
                raise TareError(f"host {remote.name}: {variant} cannot be started there: {why}")
        if found["fingerprint"] != wanted.fingerprint:
            raise TareError(f"host {remote.name}: its builds are not those of this machine")
        return remote.open(_settings(remote, bench, wanted))

    return ready


def _settings(remote: Remote, bench: Bench, wanted: Wanted) -> dict[str, Any]:
    place = remote.place
    # Namespaces are one machine: its CPUs are dealt to their roles as without hosts.
    shared = asdict(bench.cpus) if place.namespace and not place.cpus else None
    return {
        "tag": bench.tag,
        "priority": bench.loaded.experiment.priority,
        "shared": shared,
        "cpus": place.cpus,
        "wanted": _counts(remote.name, wanted),
    }


def _counts(name: str, wanted: Wanted) -> tuple[int, int, int]:
    """Return how many CPUs the server's, the client's and the backends' roles get on a host."""
    file = wanted.file
    if name not in file.loads:
        return wanted.server_cpus, 0, wanted.backend_cpus
    if name != file.default and file.hosts[name].roles == [INSTRUMENT_ROLE]:
        return wanted.client_cpus, 0, 0
    return wanted.server_cpus, wanted.client_cpus, wanted.backend_cpus


def _here(bench: Bench, name: str, place: RoleHost) -> Local:
    cpus = bench.cpus
    if place.cpus:
        cpus = host.assign(host.by_core(place.cpus), len(cpus.server), len(cpus.client))
    return bench.local.at(name, str(place.address), cpus)


def _taken(file: HostsFile, name: str, roles: Mapping[str, str]) -> list[str]:
    """Return the roles that a host takes; several may take the load's."""
    return [
        role
        for role, where in roles.items()
        if where == name or (role == INSTRUMENT_ROLE and name in file.loads)
    ]


def _description(each: Host, place: RoleHost, roles: list[str]) -> dict[str, Any]:
    known = each.facts if isinstance(each, Remote) else facts()
    return {
        "control": place.control,
        "address": str(place.address),
        "roles": roles,
        "cpus": asdict(each.cpus),
        **{key: known.get(key) for key in _SHOWN},
    }
