"""The machine a run is on: which CPUs serve which roles, how trials get their priority, and what
idle CPUs do."""

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tare.probes.process import tasks

_TOPOLOGY = Path("/sys/devices/system/cpu")
_LATENCY = Path("/dev/cpu_dma_latency")
_ANY_LATENCY_US = 2_000_000_000
"""PM_QOS_CPU_LATENCY_DEFAULT_VALUE of linux/pm_qos.h: no request."""


@dataclass(frozen=True)
class Cpus:
    """CPU numbers for the parts of a trial; `remark` is a note for the reader."""

    server: list[int]
    client: list[int]
    backend: list[int]
    """Of their own where there are enough; else the server's, which then carry both."""
    support: list[int]
    remark: str | None = None

    @property
    def tested(self) -> list[int]:
        """The CPUs on which foreign work spoils a trial."""
        return sorted({*self.server, *self.client, *self.backend})


def assign(ordered: Sequence[int], server: int, client: int, backend: int = 0) -> Cpus:
    """Server CPUs first, then the client's, then the backends', if any are wanted; the next
    supports (controllers, the laboratory). Without a client here, `client` is 0.

    `ordered` as from `by_core`. With too few CPUs for all, roles share, and the remark says so.
    """
    wanted = server + client
    if len(ordered) <= 1:
        only = list(ordered)
        return Cpus(only, only, only, only, "one CPU: server, client and laboratory share it")
    if len(ordered) < wanted:
        server = max(1, len(ordered) * server // wanted)
        client = len(ordered) - server
    servers, clients = list(ordered[:server]), list(ordered[server : server + client])
    backends = list(ordered[server + client :][:backend])
    rest = list(ordered[server + client + len(backends) :][:1])
    remarks = []
    if len(ordered) < wanted:
        remarks.append(
            f"{wanted} CPUs wanted, {len(ordered)} available: {server} to the server, "
            f"{client} to the client"
        )
    if backend and not backends:
        remarks.append("backends share the server's CPUs")
    elif len(backends) < backend:
        remarks.append(f"{backend} CPUs wanted for backends, {len(backends)} available")
    if not rest:
        whose = "client" if clients else "server"
        remarks.append(f"controllers and the laboratory share the {whose}'s CPUs")
    clients = clients or servers
    return Cpus(servers, clients, backends or servers, rest or clients, "; ".join(remarks) or None)


def by_core(available: Sequence[int] | None = None, topology: Path = _TOPOLOGY) -> list[int]:
    """The CPUs this process may use, one of each core before any core's second thread.

    Second threads come last core first, so that support shares a core with a client, if with any.
    """
    numbers = sorted(os.sched_getaffinity(0)) if available is None else sorted(available)
    first_of_core: dict[str, int] = {}
    later: list[int] = []
    for number in numbers:
        siblings = topology / f"cpu{number}/topology/thread_siblings_list"
        core = siblings.read_text().strip() if siblings.exists() else str(number)
        if core in first_of_core:
            later.append(number)
        else:
            first_of_core[core] = number
    return [*first_of_core.values(), *reversed(later)]


def own_threads() -> list[int]:
    """Return the numbers of this process's threads."""
    return [int(thread.name) for thread in tasks(os.getpid())]


def lower_own_priority() -> None:
    """Give it back; a report need not go before everybody else."""
    for thread in own_threads():
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def raise_own_priority(threads: Iterable[int] = (0,)) -> str | None:
    """Give this thread, or those given, the lowest real-time priority (not their children), so that
    probes are read when they are due. Returns a remark when it may not.
    """
    policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
    try:
        for thread in threads:
            os.sched_setscheduler(thread, policy, os.sched_param(1))
    except OSError as error:
        return f"the laboratory has no real-time priority, so it may read probes late ({error})"
    return None


class Idle:
    """The behaviour of idle CPUs. A sleeping CPU must be woken, at a price that a virtual machine's
    host sets; a polling one need not be.

    The request is the open file's (docs.kernel.org/power/pm_qos_interface.html), so that it ends
    with this process however that ends.
    """

    def __init__(self, latency: Path = _LATENCY) -> None:
        self.remark: str | None = None
        """The remark that CPUs always sleep, if this user may not change that."""
        self._request: IO[bytes] | None = None
        try:
            self._request = latency.open("r+b", buffering=0)
        except OSError as error:
            self.remark = f"idle CPUs sleep, so figures include the time to wake them ({error})"

    def set(self, *, poll: bool) -> None:
        """Poll from now on, or sleep as the kernel sees fit."""
        if self._request is not None:
            most_us = 0 if poll else _ANY_LATENCY_US
            self._request.write(most_us.to_bytes(4, sys.byteorder))

    def close(self) -> None:
        """Withdraw the request: idle CPUs do again what they did before."""
        if self._request is not None:
            self._request.close()
