"""Free ports for servers, held from their choice to the end of the site that uses them.

A placeholder on the port itself would be in the server's way, so each number is held by an abstract
Unix socket of its name: all laboratories of a network namespace see it, and the kernel removes it
with the process. A program that is no laboratory may still take the port: `taken` finds that out.
"""

import random
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tare.lab.errors import MachineFault

_RANGE = range(10_000, 32_000)
_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_TRIES = 2000
_CHANCE = random.SystemRandom()
"""By chance and not by a seed: two that choose at once would choose the same, over and over."""


@dataclass
class Held:
    """Ports by name, which no other laboratory of this machine is given."""

    numbers: dict[str, int] = field(default_factory=dict)
    _holds: list[socket.socket] = field(default_factory=list)

    def release(self) -> None:
        """Let others have them."""
        for each in self._holds:
            each.close()
        self._holds.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def hold(host: str, names: Sequence[str]) -> Held:
    """Hold a port of `host` for each name, all different, each free for TCP and UDP.

    Raises MachineFault when none can be found.
    """
    outgoing, held = _outgoing(), Held()
    known = [port for port in _RANGE if port not in outgoing] or list(_RANGE)
    for name in names:
        for _ in range(_TRIES):
            port = _CHANCE.choice(known)
            if (claim := _claim(port)) is None:
                continue
            held._holds.append(claim)
            if not taken(host, port):
                held.numbers[name] = port
                break
        else:
            held.release()
            raise MachineFault(
                f"no free port of {host} between {known[0]} and {known[-1]}: end what holds them"
            )
    return held


def taken(host: str, port: int) -> bool:
    """Return true if some process has the port, for TCP or for UDP."""
    with socket.socket() as probe, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        # As servers do: connections of a former server that linger do not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            datagrams.bind((host, port))
        except OSError:
            return True
    return False


def _claim(port: int) -> socket.socket | None:
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0tare-port-{port}")
    except OSError:
        claim.close()
        return None
    return claim


def _outgoing() -> range:
    """Return the ports from which the kernel takes those of outgoing connections."""
    try:
        first, last = map(int, _OUTGOING.read_text().split())
    except (OSError, ValueError):
        return range(0)
    return range(first, last + 1)
