"""hosts.toml: the hosts of one trial's roles, and how each is reached."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tare.model.base import Record
from tare.model.fields import Key, Name
from tare.model.role import INSTRUMENT_ROLE


class MadeNetwork(Record):
    """A bridge of this machine, with a namespace for each host: made for a run, then removed."""

    address: IPv4Interface
    """The bridge's own address, and the network: the machine's end, such as 10.77.0.1/24."""


class RoleHost(Record):
    """A host that takes roles. With neither ssh nor namespace it is this machine."""

    address: IPv4Address
    """Where its roles listen, and where other hosts find them."""
    ssh: Annotated[str, Field(pattern=r"^[^-\s/][^\s/]*$")] | None = None
    """Its name for ssh(1), such as user@host."""
    namespace: Name | None = None
    """A network namespace of this machine."""
    roles: list[Key] = []
    cpus: list[Annotated[int, Field(ge=0)]] = []
    """The CPUs that tare may use there; without any, all that it finds."""

    @model_validator(mode="after")
    def _one_way(self) -> "RoleHost":
        if self.ssh and self.namespace:
            raise ValueError("expected ssh or namespace, found both")
        return self

    @property
    def control(self) -> str:
        """The way to reach it, in words."""
        if self.ssh:
            return f"ssh {self.ssh}"
        return f"namespace {self.namespace}" if self.namespace else "this machine"


def _ends(net: IPv4Network) -> tuple[IPv4Address, ...]:
    """Return the addresses that no host of a network can have."""
    both = (net.network_address, net.broadcast_address)
    return both if net.num_addresses > len(both) else ()


class HostsFile(Record):
    """The whole of hosts.toml."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    default: Name
    """The host of every role that no host names."""
    network: MadeNetwork | None = None
    hosts: dict[Name, RoleHost] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> "HostsFile":
        if fault := next(self._faults(), None):
            raise ValueError(fault)
        return self

    def of(self, role: str) -> str:
        """Return the name of the host that takes a role."""
        return next((name for name, host in self.hosts.items() if role in host.roles), self.default)

    @property
    def loads(self) -> list[str]:
        """The names of the hosts of the load generators."""
        named = [name for name, host in self.hosts.items() if INSTRUMENT_ROLE in host.roles]
        return named or [self.default]

    def _faults(self) -> Iterator[str]:
        known = ", ".join(self.hosts)
        if self.default not in self.hosts:
            yield f"default: found {self.default!r}, expected one of: {known}"
        for name, host in self.hosts.items():
            for field, values in (("roles", host.roles), ("cpus", host.cpus)):
                if len({*values}) < len(values):
                    yield f"hosts.{name}.{field}: found one twice, expected each once"
            if host.address.is_unspecified or host.address.is_multicast:
                yield f"hosts.{name}.address: found {host.address}, expected one of the host's own"
        roles = [role for host in self.hosts.values() for role in host.roles]
        for role in {role for role in roles if roles.count(role) > 1} - {INSTRUMENT_ROLE}:
            yield f"the role {role!r} is named by more than one host, expected one"
        places = [str(host.address) for host in self.hosts.values()]
        for place in {place for place in places if places.count(place) > 1}:
            yield f"the address {place} is named by more than one host, expected one for each"
        if self.network is None:
            return
        net = self.network.address.network
        if self.network.address.ip in _ends(net):
            yield f"network.address: found that of the network itself, expected one within {net}"
        spaces = [host.namespace for host in self.hosts.values() if host.namespace]
        for space in {space for space in spaces if spaces.count(space) > 1}:
            yield f"the namespace {space!r} is named by more than one host, expected one for each"
        for name, host in self.hosts.items():
            if host.address in _ends(net):
                yield f"hosts.{name}.address: found that of the network itself"
            if host.namespace is None:
                yield f"hosts.{name}: expected a namespace, since [network] makes one for each host"
            if host.address not in self.network.address.network:
                yield f"hosts.{name}.address: expected one within {self.network.address.network}"
            if host.address == self.network.address.ip:
                yield f"hosts.{name}.address: expected another than the bridge's own"
