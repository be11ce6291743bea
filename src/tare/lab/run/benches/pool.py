"""The benches of a run as Dask sees them: who is there, and what each of them makes."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, Future, SpecCluster, wait

from tare.lab.errors import TareError
from tare.lab.run.benches import worker
from tare.lab.run.benches.dask import QuietScheduler, security, settle
from tare.model.benches import COORDINATOR, Benches, BlockAsked, BlockMade

_DISMISSED_S = 10.0


class Pool:
    """Benches that have joined. One of them makes one block at a time."""

    def __init__(self, client: Client, scheduler: QuietScheduler) -> None:
        self._client, self._scheduler = client, scheduler

    def names(self) -> dict[str, str]:
        """Return bench → the address of its worker, of all that are there."""
        return {str(each.name): each.address for each in list(self._scheduler.workers.values())}

    def deal(self, asked: BlockAsked) -> Future:
        """Have a free bench make a block; another one, if that is lost."""
        return self._client.submit(worker.make_block, asked.model_dump_json().encode(), pure=False)

    def done(self, dealt: Iterable[Future], seconds: float) -> list[Future]:
        """Return those that are made, as soon as one is, or none after some seconds."""
        waiting = list(dealt)
        try:
            wait(waiting, timeout=seconds, return_when="FIRST_COMPLETED")
        except TimeoutError:
            return []
        return [future for future in waiting if future.done()]

    def descriptions(self) -> dict[str, Any]:
        """Return bench → what it is."""
        found = self._client.run(worker.describe)
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
    shown, at = security(benches, COORDINATOR), benches.coordinator
    scheduler = {
        "cls": QuietScheduler,
        "options": {
            "host": f"tls://{at.address}",
            "port": at.port,
            "security": shown,
            "dashboard": False,
        },
    }
    try:
        cluster = SpecCluster(workers={}, scheduler=scheduler, security=shown)
    except (OSError, RuntimeError) as error:
        raise TareError(
            f"cannot listen for benches at {at.address} port {at.port}: {error.__cause__ or error}"
        ) from error
    with cluster, Client(cluster, security=shown) as client:
        yield Pool(client, cluster.scheduler)


def answer(future: Future) -> tuple[BlockMade, bytes]:
    """Return what a bench answered. Raises KilledWorker if every bench that tried was lost."""
    made, packed = future.result()
    return BlockMade.model_validate(json.loads(made)), packed
