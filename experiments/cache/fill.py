"""Fills the cache, and sees to it that what is to be cold is on the disk and nowhere else.

Only files of this cache are dropped from memory, one by one. The file `--done` appears when all is
as it should be; the process then waits to be stopped. What is not as it should be is an error.
"""

import argparse
import ctypes
import hashlib
import http.client
import mmap
import os
import signal
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_CLIENTS = 4
_RESIDENT_MAX = 0.01
_RESIDENT_MIN = 0.99


def main() -> None:
    """Fill, drop, warm, check, and wait."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--hot", type=int, required=True)
    parser.add_argument("--cold", type=int, required=True)
    parser.add_argument("--done", type=Path, required=True)
    given = parser.parse_args()
    hot = [f"/10k/hot-{number}" for number in range(given.hot)]
    cold = [f"/1m/cold-{number}" for number in range(given.cold)]
    _fetch(given.cache, cold + hot, "MISS")
    files = {path: _file(given.folder, path) for path in cold + hot}
    for file in files.values():
        _drop(file)
    _fetch(given.cache, hot, "HIT")
    share = _resident([files[path] for path in cold])
    if share > _RESIDENT_MAX:
        sys.exit(f"fill: {share:.1%} of the cold objects are in memory, expected none")
    share = _resident([files[path] for path in hot])
    if share < _RESIDENT_MIN:
        sys.exit(f"fill: {share:.1%} of the hot objects are in memory, expected all of them")
    given.done.touch()
    signal.pause()


def _fetch(cache: str, paths: list[str], expected: str) -> None:
    """Ask for each path once. Exits unless each is answered, and from where it should be."""
    with ThreadPoolExecutor(_CLIENTS) as pool:
        for _ in pool.map(_part, [cache] * _CLIENTS, _parts(paths), [expected] * _CLIENTS):
            pass


def _parts(paths: list[str]) -> list[list[str]]:
    return [paths[client::_CLIENTS] for client in range(_CLIENTS)]


def _part(cache: str, paths: list[str], expected: str) -> None:
    connection = http.client.HTTPConnection(cache, timeout=20)
    for path in paths:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        found = (answer.status, answer.getheader("X-Cache"))
        if found != (200, expected):
            sys.exit(f"fill: {path}: found {found}, expected (200, {expected!r})")
    connection.close()


def _file(folder: Path, path: str) -> Path:
    """Where nginx keeps what it got for `path` (levels=1:2)."""
    name = hashlib.md5(path.encode()).hexdigest()
    found = list(folder.glob(f"disk*/{name[-1]}/{name[-3:-1]}/{name}"))
    if len(found) != 1:
        sys.exit(f"fill: {path} is in {len(found)} files of the cache, expected 1")
    return found[0]


def _drop(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    os.fsync(descriptor)  # what is not yet written would stay
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def _resident(files: Iterable[Path]) -> float:
    """The share of the files' pages that are in memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    pages = resident = 0
    for file in files:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, mmap.MAP_PRIVATE) as mapped:
            count = -(-len(mapped) // mmap.PAGESIZE)
            vector = (ctypes.c_ubyte * count)()
            start = ctypes.c_char.from_buffer(mapped)
            if libc.mincore(ctypes.byref(start), ctypes.c_size_t(len(mapped)), vector) != 0:
                sys.exit(f"fill: {file}: mincore: {os.strerror(ctypes.get_errno())}")
            del start
        pages += count
        resident += sum(page & 1 for page in vector)
    return resident / pages if pages else 0.0


if __name__ == "__main__":
    main()
