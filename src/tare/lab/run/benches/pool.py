"""The benches of a run as Dask sees them: who is there, and what each of them makes."""

import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from distributed import Client, Future, SpecCluster, wait

from tare.lab import paths
from tare.lab.errors import TareError
from tare.lab.run.benches import worker
from tare.lab.run.benches.dask import QuietScheduler, security, settle, url
from tare.model.benches import COORDINATOR, Benches, BlockAsked, BlockMade
from tare.model.hosts import HostsFile

_DISMISSED_S = 10.0


@dataclass(frozen=True)
class Answer:
    """The end of a block that was dealt."""

    block: int
    told: bytes = b""
    packed: bytes = b""
    error: Exception | None = None

    def made(self) -> BlockMade:
        """Return what its bench says. Raises KilledWorker if every bench that tried was lost."""
        if self.error is not None:
            raise self.error
        return BlockMade.model_validate_json(self.told)


class Pool:
    """Benches that have joined. One of them makes one block at a time."""

    def __init__(self, client: Client, scheduler: QuietScheduler) -> None:
        self._client, self._scheduler = client, scheduler
        self._answers: SimpleQueue[Answer] = SimpleQueue()

    def names(self) -> dict[str, str]:
        """Return bench → the address of its worker, of all that are there."""
        return {str(each.name): each.address for each in list(self._scheduler.workers.values())}

    def deal(self, asked: BlockAsked) -> None:
        """Have a free bench make a block; another one, if that is lost."""
        request = asked.model_dump_json(by_alias=True).encode()
        made = self._client.submit(worker.make_block, request, pure=False)
        self._client.loop.add_callback(self._follow, asked.block, made)

    async def _follow(self, block: int, made: Future) -> None:
        """Fetch an answer as soon as it is there, while other blocks go on."""
        try:
            answer = Answer(block, *await self._client.gather(made, asynchronous=True))
        except Exception as error:
            answer = Answer(block, error=error)
        self._answers.put(answer)

    def answers(self, seconds: float) -> list[Answer]:
        """Return those that came since the last look, as soon as one is there, or none after some
        seconds.
        """
        try:
            found = [self._answers.get(timeout=seconds)]
        except Empty:
            return []
        while not self._answers.empty():
            found.append(self._answers.get())
        return found

    def descriptions(self, spread: Mapping[str, HostsFile]) -> dict[str, Any]:
        """Return bench → what it is; `spread` has the hosts of its roles."""
        # Dask's own way of packing has no models.
        packed = {
            name: hosts.model_dump_json(by_alias=True).encode() for name, hosts in spread.items()
        }
        found = self._client.run(worker.describe, packed)
        return {name: found[address] for name, address in self.names().items() if address in found}

    def dismiss(self, name: str, reason: str) -> None:
        """End a bench's command, if it is there."""
        if (address := self.names().get(name)) is not None:
            sent = self._client.submit(worker.leave, reason, workers=[address], pure=False)
            wait([sent], timeout=_DISMISSED_S)


@contextmanager
def opened(benches: Benches) -> Iterator[Pool]:
    """Listen for benches until the end of the block. Raises TareError."""
    settle()
    _allow_connections()
    shown, at = security(benches, COORDINATOR), benches.coordinator
    scheduler = {
        "cls": QuietScheduler,
        "options": {
            "host": url(at.address, at.port),
            "security": shown,
            "dashboard": False,
            # Dask clears it. Its default is a folder in /tmp that all users share.
            "local_directory": str(paths.cache()),
        },
    }
    try:
        cluster = SpecCluster(workers={}, scheduler=scheduler, security=shown)
    except (OSError, RuntimeError) as error:
        raise TareError(
            f"cannot listen for benches at {at.address} port {at.port}: {error.__cause__ or error}"
        ) from error
    with cluster, Client(cluster, security=shown, direct_to_workers=True) as client:
        yield Pool(client, cluster.scheduler)


def _allow_connections() -> None:
    """Allow as many open files as this process may have: each bench has some connections."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
