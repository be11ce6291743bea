"""How the contract tests of `cache` ask a cache, and know what it must answer."""

import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tare.lab.trial.site import Site

_PATIENCE_S = 60.0
_BLOCK = 65_536


def get(site: Site, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    """Status and body, over a connection of its own; 0 when it was cut short."""
    connection = http.client.HTTPConnection(site.host, site.port["cache"], timeout=_PATIENCE_S)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (http.client.HTTPException, ConnectionError):
        return 0, b""
    finally:
        connection.close()


def get_all(site: Site, paths: Iterable[str], clients: int = 8) -> list[tuple[int, bytes]]:
    """The same for several at once, in their order."""
    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(lambda path: get(site, path), paths))


def right(path: str, size: int) -> tuple[int, bytes]:
    """What a whole and right answer is (components/cache-origin)."""
    parts = (f"{path}\n{block}".encode() for block in range(-(-size // _BLOCK)))
    made = b"".join(hashlib.shake_128(part).digest(_BLOCK) for part in parts)
    return 200, made[:size]


def kept(folder: Path, path: str) -> Path:
    """The file in which nginx keeps what it got for `path`."""
    name = hashlib.md5(path.encode()).hexdigest()
    return folder / name[-1] / name[-3:-1] / name


def forget(file: Path) -> None:
    """Drop the file from memory, so that it is read from the disk."""
    descriptor = os.open(file, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def configure(site: Site, queue: str, *, waits: bool = True) -> None:
    """Another queue, by a reload; `waits` until no worker has the old one."""
    file = site.folder / "sut" / "nginx.conf"
    bare = re.sub(r"^task_queue .*;$", "", file.read_text(), flags=re.MULTILINE)
    file.write_text(f"task_queue {queue};\n{bare}")
    if waits:
        reload(site)
    else:
        os.kill(site.processes["sut"].pid, signal.SIGHUP)


def reload(site: Site, role: str = "sut") -> None:
    """Let a role read its configuration anew; returns when only new workers are left."""
    nginx = site.processes[role]
    old = set(nginx.pids()) - {nginx.pid}
    os.kill(nginx.pid, signal.SIGHUP)
    until(lambda: not old & (now := set(nginx.pids())) and len(now) > 1, "old workers go on")


def change(site: Site, role: str, settings: Mapping[str, str]) -> None:
    """Put something else in the place of parts of a role's configuration, for its next start."""
    file = site.folder / role / "nginx.conf"
    text = file.read_text()
    for old, new in settings.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


@contextmanager
def restarted(
    site: Site, between: Callable[[], None], program: Path | None = None
) -> Iterator[None]:
    """The cache ended and started anew, perhaps as another program, with something done between."""
    sut = site.processes["sut"]
    assert sut.stop(signal.SIGQUIT, 10)
    between()
    with (site.folder / "sut" / "sut.log").open("ab") as log:
        argv = [str(program or sut.argv[0]), *sut.argv[1:]]
        again = subprocess.Popen(argv, cwd=site.folder / "sut", stderr=log)
    try:
        until(lambda: get(site, "/any/awake-1")[0] == 200, "nginx does not start again")
        yield
    finally:
        again.send_signal(signal.SIGQUIT)
        assert again.wait(20) == 0
        site.processes.pop("sut")


def until(holds: Callable[[], bool], otherwise: str) -> None:
    """Wait for something that must come to hold."""
    give_up = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < give_up, otherwise
        time.sleep(0.02)


def tasks(site: Site) -> dict[str, int]:
    """What the module counted."""
    connection = http.client.HTTPConnection(site.host, site.port["status"], timeout=5)
    connection.request("GET", "/tasks")
    found: dict[str, int] = json.loads(connection.getresponse().read())
    return found
