"""benches.toml: the machines that make a run's blocks, and the one that deals them."""

import re
from ipaddress import IPv6Address
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from tare.model.base import Record
from tare.model.fields import Name
from tare.model.hosts import HostsFile
from tare.model.trial import Plan, Trial

COORDINATOR = "coordinator"
"""The one that deals; no bench has this name."""
AUTHORITY = "authority"
"""Whose certificate signs those of all; no bench has this name either."""


def _address(text: str) -> str:
    bare = text.strip("[]")
    if ":" in bare:
        try:
            return str(IPv6Address(bare))
        except ValueError:
            pass
    elif re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", text):
        return text
    raise ValueError("an IP address or a host's name, without a scheme; a port has its own key")


Address = Annotated[str, AfterValidator(_address)]
"""Of a machine: an IPv6 address without brackets, as sockets take it."""

Port = Annotated[int, Field(ge=0, le=65535)]


class Coordinator(Record):
    """The machine on which `tare run` is called."""

    address: Address
    """Where it listens for benches, and where these find it."""
    port: Annotated[int, Field(ge=1, le=65535)] = 7600
    wait_s: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """How long a run goes on without any bench."""


class BenchPlace(Record):
    """A machine that makes blocks."""

    address: Address
    """Where the coordinator reaches it."""
    port: Port = 0
    """0: any that is free."""
    spread: HostsFile | None = None
    """The hosts of its trials' roles, as hosts.toml has them; without, the bench takes all."""


class Benches(Record):
    """The whole of benches.toml."""

    schema_: Literal[1] = Field(alias="schema")
    keys: str = "keys"
    """Folder of the certificates, from the file's own folder."""
    coordinator: Coordinator
    benches: dict[Name, BenchPlace] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_of_each_name(self) -> "Benches":
        for name in (COORDINATOR, AUTHORITY):
            if name in self.benches:
                raise ValueError(f"a bench may not be called {name!r}; choose another name")
        places = {(self.coordinator.address, self.coordinator.port): COORDINATOR}
        for name, place in self.benches.items():
            other = places.setdefault((place.address, place.port), name)
            if place.port and other != name:
                raise ValueError(
                    f"{name} and {other} have the same address and port; give one another port"
                )
        return self

    @model_validator(mode="after")
    def _one_kind(self) -> "Benches":
        lacking = [name for name, place in self.benches.items() if place.spread is None]
        if self.spread and lacking:
            raise ValueError(
                f"the benches {', '.join(lacking)} have no [spread], and others have one; expected "
                "one for each or for none, since a server on a host of its own costs something else"
            )
        return self

    @property
    def spread(self) -> dict[str, HostsFile]:
        """Return bench → the hosts of its trials' roles, of those benches that have some."""
        return {name: place.spread for name, place in self.benches.items() if place.spread}


class BlockAsked(Record):
    """A block that a bench is to make."""

    plan: Plan
    block: int
    known: list[Trial]
    """Trials of it that are made, and those that say that a variant cannot be measured."""
    sources: str
    """Digest of the laboratory and of the experiment; a bench with another one refuses."""
    fingerprint: str | None = None
    """Of the experiment and its builds, as soon as one bench has made some."""
    spread: dict[str, HostsFile] = {}
    """As of `Benches`."""


class BlockMade(Record):
    """A bench's answer: `refused` says why it makes none; else `files` come with it."""

    bench: str
    refused: str | None = None
