"""A bench: waits for a coordinator, makes the blocks that it deals, and waits for the next one."""

import asyncio
import fcntl
import json
import random
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from distributed import Security, Status, get_worker
from pydantic import ValidationError

from tare.lab import paths
from tare.lab.errors import Interrupted, TareError
from tare.lab.machine.ledger import sweep_all
from tare.lab.run import subject
from tare.lab.run.benches import parcel, sources
from tare.lab.run.benches.dask import QuietWorker, security, settle, url
from tare.lab.run.hosts import checking
from tare.lab.run.store import Store
from tare.lab.trial.bench import LEDGER
from tare.model.benches import Benches, BlockAsked, BlockMade, Coordinator
from tare.model.hosts import HostsFile
from tare.probes.audit import audit
from tare.probes.identity import identity, revision

_LOOK_S = 1.0
_LOOKS_PER_S = 50
"""How often all benches together look for a coordinator, so that it is not busy with that alone."""
_HELLO_S = 10.0
"""How long a coordinator may take to answer."""
_JOIN_S = 60.0
"""How long joining may take, beside many others that do so at the same time."""
_POLL_S = 0.2
_ENDING_S = 30.0
"""How long a block that is cut off may take to take down its servers."""
_WORDS = 2000
"""Characters of what a block that failed wrote last."""
_OTHERS = "its files of {} are not the coordinator's; bring both to the same commit"

Say = Callable[[str], None]
_dismissed: list[str] = []


def serve(benches: Benches, name: str, say: Say) -> None:
    """Make blocks until the user stops it. Raises Interrupted, and TareError when a coordinator
    sends it away, when keys do not fit, or when it runs already.
    """
    settle()
    shown = security(benches, name)
    with _own(_folder(name)):
        asyncio.run(_serve(benches, name, shown, say))


def _folder(name: str) -> Path:
    return paths.runs() / f"bench-{name}"


@contextmanager
def _own(folder: Path) -> Iterator[None]:
    """The bench's folder, without what an earlier one left in it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TareError(f"{folder} is in use: a bench of this name runs already") from None
        sweep_all(folder.glob(f"*/{LEDGER}"))
        for left in folder.glob("*/"):
            shutil.rmtree(left)
        yield


async def _serve(benches: Benches, name: str, shown: Security, say: Say) -> None:
    at, place = benches.coordinator, benches.benches[name]
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    say(f"bench {name} waits for a coordinator at {at.address} port {at.port}; Ctrl-C ends it")
    while not ended.is_set():
        if not await _lets_in(at, shown):
            pause = max(_LOOK_S, len(benches.benches) / _LOOKS_PER_S) * random.uniform(0.5, 1.5)
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), pause)
            continue
        # In the folder that the next bench of this name clears, should this one be killed.
        with tempfile.TemporaryDirectory(prefix="dask-", dir=_folder(name)) as scratch:
            worker = QuietWorker(
                url(at.address, at.port),
                nthreads=1,
                name=name,
                security=shown,
                host=url(place.address, place.port),
                local_directory=scratch,
                dashboard=False,
                death_timeout=_JOIN_S,
            )
            await _work(worker, ended, name, say)
        if _dismissed:
            raise TareError(f"the coordinator sent this bench away: {_dismissed.pop()}")
    raise Interrupted("stopped")


async def _work(worker: QuietWorker, ended: asyncio.Event, name: str, say: Say) -> None:
    try:
        await worker
    except (TimeoutError, OSError):
        return  # the coordinator went as this one came
    say(f"bench {name} joined a run")
    finished = asyncio.ensure_future(worker.finished())
    waits = asyncio.ensure_future(ended.wait())
    await asyncio.wait([finished, waits], return_when=asyncio.FIRST_COMPLETED)
    await worker.close(timeout=_ENDING_S)
    waits.cancel()
    say(f"bench {name} left the run")


async def _lets_in(at: Coordinator, shown: Security) -> bool:
    """Return true if a coordinator is there, which speaks first to those whose key it believes.

    Raises TareError if it does not believe this one's, or the other way round.
    """
    context = shown.get_connection_args("worker")["ssl_context"]
    try:
        async with asyncio.timeout(_HELLO_S):
            reader, writer = await asyncio.open_connection(at.address, at.port, ssl=context)
            heard = await reader.read(1)
    except ssl.SSLError as error:
        raise TareError(
            f"at {at.address} port {at.port} is no coordinator with the same authority "
            f"({error.reason}); make keys with tare hosts keys, and copy them to every bench"
        ) from error
    except (TimeoutError, OSError):
        return False
    writer.close()
    return heard != b""


def make_block(request: bytes) -> tuple[bytes, bytes]:
    """Make a block that the coordinator deals; return its `BlockMade`, and what was packed."""
    worker = get_worker()
    try:
        asked = BlockAsked.model_validate_json(request)
    except ValidationError:
        refused = BlockMade(bench=worker.name, refused=_OTHERS.format("the laboratory"))
        return refused.model_dump_json().encode(), b""
    folder = _folder(worker.name) / f"{asked.plan.run}-b{asked.block:02d}"
    try:
        packed = made(asked, folder, worker.name, lambda: worker.status == Status.running)
    except (TareError, OSError) as reason:
        refused = BlockMade(bench=worker.name, refused=str(reason))
        return refused.model_dump_json().encode(), b""
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return BlockMade(bench=worker.name).model_dump_json().encode(), packed


def made(asked: BlockAsked, folder: Path, name: str, goes_on: Callable[[], bool]) -> bytes:
    """Make a block as the bench of that name, in a process of its own and in `folder`, and return
    it packed; stop if it no longer `goes_on`. Raises TareError and OSError.
    """
    store = Store.at(folder, asked.plan)
    store.append(asked.known)
    if (spread := asked.spread.get(name)) is not None:
        store.keep_hosts(spread)
    loaded = subject.planned(asked.plan)
    if sources.digest(loaded) != asked.sources:
        raise TareError(_OTHERS.format(f"the laboratory or of {asked.plan.experiment}"))
    block = [f"{__package__}.block", str(folder), str(asked.block)]
    command = [sys.executable, "-P", "-m", *block]
    log = folder / "block.log"
    with (
        log.open("wb") as stream,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stream, stderr=stream) as child,
    ):
        code = _awaited(child, goes_on)
    sys.stderr.write(log.read_text(errors="replace"))
    if code != 0:
        last = log.read_text(errors="replace").strip()[-_WORDS:]
        raise TareError(last.rpartition("tare: ")[2] or f"its block ended with code {code}")
    environment = json.loads((folder / "environment.json").read_text())
    if asked.fingerprint not in (None, environment["fingerprint"]):
        raise TareError(f"its builds of {asked.plan.experiment} are not those of the other benches")
    return parcel.pack(folder)


def _awaited(child: "subprocess.Popen[bytes]", goes_on: Callable[[], bool]) -> int:
    """Return the exit code of a child that is stopped when the bench is to end."""
    while goes_on():
        try:
            return child.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            continue
    child.terminate()
    give_up = time.monotonic() + _ENDING_S
    while child.poll() is None and time.monotonic() < give_up:
        time.sleep(_POLL_S)
    child.kill()
    return child.wait()


def describe(spread: Mapping[str, bytes], dask_worker: QuietWorker) -> dict[str, Any]:
    """Return what a bench is, for comparison with the others; its own part of `spread` (bench → its
    hosts, in JSON) says where the roles of its trials are, which are then looked at, too.
    """
    found = {
        **audit([]),
        **identity(paths.ROOT),
        "revision": revision(paths.ROOT),
        "sources": sources.of_laboratory(),
    }
    if (own := spread.get(dask_worker.name)) is None:
        return found
    seen = checking.check(HostsFile.model_validate_json(own))
    return {**found, "hosts": [each.model_dump(mode="json") for each in seen]}


def leave(reason: str) -> None:
    """End this bench's command, once it has answered."""
    worker = get_worker()
    _dismissed.append(reason)
    worker.loop.add_callback(worker.close)
