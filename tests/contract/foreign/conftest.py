"""Starts foreign servers, each at an address of its own."""

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from foreign import SERVERS, Lacking
from foreign_run import Running

_PORTS = itertools.count(20000, 2)
# Whatever else runs on this machine listens, and connects, at other addresses.
_HOST = f"127.{100 + os.getpid() // 65536 % 100}.{os.getpid() // 256 % 256}.{os.getpid() % 256}"


@pytest.fixture
def serve() -> Iterator[Callable[..., Running]]:
    """Starts a server by its name, with HTTP/2 if it has it; skips the test, with the reason, if
    the server cannot be had.
    """
    started: list[tuple[Running, Path]] = []

    def start(name: str, *, http2: bool = True) -> Running:
        # Some servers become another user, who must read and write in it.
        folder = Path(tempfile.mkdtemp(prefix="tare-foreign-"))
        folder.chmod(0o777)
        try:
            running = Running(SERVERS[name], folder, _HOST, next(_PORTS), http2=http2)
        except Lacking as lacking:
            shutil.rmtree(folder)
            pytest.skip(str(lacking))
        started.append((running, folder))
        running.await_ready()
        return running

    yield start
    for running, folder in started:
        running.close()
        shutil.rmtree(folder)
