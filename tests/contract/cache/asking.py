"""How the contract tests of `cache` ask a cache, and know what it must answer."""

import hashlib
import http.client
import json
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tare.lab.site import Site

_PATIENCE_S = 60.0
_BLOCK = 65_536


def get(site: Site, path: str) -> tuple[int, bytes]:
    """Status and body, over a connection of its own; 0 when it was cut short."""
    connection = http.client.HTTPConnection(site.host, site.port["cache"], timeout=_PATIENCE_S)
    try:
        connection.request("GET", path)
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


def tasks(site: Site) -> dict[str, int]:
    """What the module counted."""
    connection = http.client.HTTPConnection(site.host, site.port["status"], timeout=5)
    connection.request("GET", "/tasks")
    found: dict[str, int] = json.loads(connection.getresponse().read())
    return found
