"""Free ports for servers."""

import random
import socket
from collections.abc import Sequence

_RANGE = range(10_000, 32_000)
"""Below the range from which the kernel takes the ports of outgoing connections."""
_CHANCE = random.SystemRandom()


def allocate(host: str, names: Sequence[str]) -> dict[str, int]:
    """One port of `host` for each name, all different, each free for TCP and UDP a moment ago.

    By chance and not by a seed: two that allocate at once would choose the same, both free still.
    """
    found: dict[str, int] = {}
    while len(found) < len(names):
        port = _CHANCE.choice(_RANGE)
        if port in found.values():
            continue
        with socket.socket() as probe, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            # As servers do: connections of a former server that linger do not hold the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                datagrams.bind((host, port))
            except OSError:
                continue
        found[names[len(found)]] = port
    return found
