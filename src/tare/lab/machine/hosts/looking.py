"""The probes of several hosts, as if all of them were one machine."""

from collections.abc import Mapping, Sequence
from typing import Any

from tare.lab.machine.hosts.host import Host
from tare.probes.probe import Seen
from tare.probes.reading import Counter, Reading


def look(
    hosts: Sequence[Host], roles: Mapping[str, tuple[Host, Any]], at: float, *, last: bool
) -> Seen:
    """Read the probes of roles, each a host with a process that it started, on all hosts at once.

    A share of the machine is then one of all test CPUs of all hosts.
    """
    own = [
        {name: process for name, (where, process) in roles.items() if where is host}
        for host in hosts
    ]
    answers = [host.look(each, at, last=last) for host, each in zip(hosts, own, strict=True)]
    seen = [answer() for answer in answers]
    if len(seen) == 1:
        return seen[0]
    everything = {name: read for each in seen for name, read in each.roles.items()}
    machine = [_without_neighbours(number, hosts, seen) for number in range(len(hosts))]
    names = dict.fromkeys(name for each in machine for name in each)
    return Seen(everything, {name: _sum([each[name] for each in machine]) for name in names})


def _without_neighbours(
    number: int, hosts: Sequence[Host], seen: Sequence[Seen]
) -> dict[str, Reading]:
    """Return a host's readings of its machine, where the roles of other hosts of the same machine
    and CPUs are not foreign.
    """
    found = dict(seen[number].machine)
    foreign = found.get("foreign_share")
    if isinstance(foreign, Counter):
        used_us = sum(
            _value(readings["cpu_us"])
            for other, each in zip(hosts, seen, strict=True)
            if other is not hosts[number] and _shares_cpus(other, hosts[number])
            for readings in each.roles.values()
        )
        found["foreign_share"] = Counter(foreign.value - used_us / 1e6, of=foreign.of)
    return found


def _shares_cpus(one: Host, other: Host) -> bool:
    return one.machine == other.machine and bool({*one.cpus.tested} & {*other.cpus.tested})


def _sum(readings: Sequence[Reading]) -> Counter:
    parts = [each for each in readings if isinstance(each, Counter)]
    total = sum(each.value for each in parts)
    return Counter(total, of=sum(each.of or 0.0 for each in parts), least=0.0)


def _value(reading: Reading) -> float:
    return reading.value
