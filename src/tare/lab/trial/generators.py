"""Several generators for one workload: their names, their CPUs, and each one's part of the load."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from tare.lab.errors import ManifestError
from tare.lab.machine.hosts.host import Host
from tare.model.role import GENERATORS, INSTRUMENT_ROLE

_UNDIVIDED = ("targets", "slices", "replay", "profile", "requests", "ramp_per_s", "times_file")
"""Fields of a spec that say what one generator does; each of several would do all of it."""
_IN_TURNS = "turns"
_SEED_BITS = 31


@dataclass(frozen=True)
class Generators:
    """The instrument's processes in a trial: one, or several that make the load together."""

    roles: Sequence[str]
    """The names under which they run as roles."""
    hosts: Sequence[Host]
    """Those of the load; generators are dealt to them in turn."""

    @classmethod
    def of(cls, parameters: Mapping[str, Any], hosts: Sequence[Host], where: str) -> "Generators":
        """Return as many on each host as the parameter says. Raises ManifestError that names
        `where`.
        """
        number = parameters.get(GENERATORS, 1)
        if not isinstance(number, int) or number < 1:
            raise ManifestError(
                f"{where}: parameter {GENERATORS}: found {number!r}, expected a whole number "
                "above 0"
            )
        count = number * len(hosts)
        numbered = [f"{INSTRUMENT_ROLE}-{each + 1}" for each in range(count)]
        return cls(numbered if count > 1 else [INSTRUMENT_ROLE], hosts)

    def host_of(self, role: str) -> Host:
        """Return the host of one of them."""
        return self.hosts[self.roles.index(role) % len(self.hosts)]

    def title(self, role: str) -> str:
        """Return the name of one of them for people, with its host if there are several."""
        return f"{role}@{self.host_of(role).name}" if len(self.hosts) > 1 else role

    def client_cpus(self, role: str) -> list[int]:
        """Return the client's CPUs that one of them gets: its own where there are enough, else one
        that it shares.
        """
        own = self.host_of(role)
        place = own.machine, own.cpus.client
        beside = [
            each
            for each in self.roles
            if (self.host_of(each).machine, self.host_of(each).cpus.client) == place
        ]
        return _share(own.cpus.client, beside.index(role), len(beside))


def _share(cpus: Sequence[int], number: int, count: int) -> list[int]:
    if len(cpus) < count:
        return [cpus[number % len(cpus)]]
    return list(cpus[number * len(cpus) // count : (number + 1) * len(cpus) // count])


def share_of_load(spec: Mapping[str, Any], number: int, count: int) -> dict[str, Any]:
    """Return the spec of one of `count` generators, `number` from 0, made of the spec of one that
    would make the whole load: its part of connections and rate, which add up to the whole, and a
    seed of its own.

    Raises ValueError for a spec that cannot be divided.
    """
    if fault := next(_faults(spec, count), None):
        raise ValueError(fault)
    own, whole = dict(spec), spec["connections"]
    connections = [whole // count + (each < whole % count) for each in range(count)]
    own["connections"] = connections[number]
    if pace := spec.get("loop"):
        rates = {
            name: _rates(pace[name], connections)[number]
            for name in ("rate", "limit")
            if pace.get(name) is not None
        }
        own["loop"] = {**pace, **rates}
    own["seed"] = random.Random(f"{spec.get('seed')}/{number}").getrandbits(_SEED_BITS)
    return own


def _rates(whole: float, connections: Sequence[int]) -> list[float]:
    """Return each generator's part of a rate, by its connections. The last one gets what the others
    leave, so that the sum is exact in floating point, too.
    """
    parts = [whole * each / sum(connections) for each in connections[:-1]]
    return [*parts, whole - reduce(add, parts, 0.0)]


def _faults(spec: Mapping[str, Any], count: int) -> Iterator[str]:
    connections = spec.get("connections")
    if not isinstance(connections, int) or connections < count:
        yield f"connections: found {connections}, expected a number of at least {count}, one each"
    for field in _UNDIVIDED:
        if spec.get(field):
            yield f"{field}: found {spec[field]!r}, which cannot be divided"
    pace = spec.get("loop") or {}
    if pace.get("kind") == "serial":
        yield "loop.kind: found 'serial', and each generator would have a request in flight"
    if pace.get("kind") == "open" and pace.get("arrivals", "poisson") != "poisson":
        yield (
            f"loop.arrivals: found {pace['arrivals']!r}, expected 'poisson': only random arrivals "
            "of several generators are together what those of one would be"
        )
    keys = spec.get("keys") or {}
    if _IN_TURNS in (keys.get("order"), spec.get("mix_order")):
        yield "order: found 'turns', and each generator would take its own turns"
