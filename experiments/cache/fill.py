"""Fill the cache, and make sure that cold objects are on the disk only.

Only files of this cache are dropped from memory. The file `--done` appears when all checks have
passed. From then on `POST /PATH` drops the file of that object, and is answered with 204. A failed
check ends the process with an error. The machine decides what stays in memory, so a check of that
ends it with EX_TEMPFAIL: the trial is repeated.
"""

import argparse
import hashlib
import http.client
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer
from typing import NoReturn

import memory

_CLIENTS = 4
_RESIDENT_MAX = 0.01
_RESIDENT_MIN = 0.99
_COLD_BYTES = 1 << 20
_HOT_BYTES = 10_240
_PAGE = 4096
_TRIES = 5
"""Times that an object is fetched until the cache keeps it, at most."""
_LOOKS = 5
"""Fetches of the hot objects, at most. After one fetch a few pages have been seen missing, and a
cache also reads other files at first, such as code."""


def main() -> None:
    """Fill, drop, warm, check, and wait."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--hot", type=int, required=True)
    parser.add_argument("--cold", type=int, required=True)
    parser.add_argument(
        "--mixed", type=int, required=True, help="objects of each size, kept as they come"
    )
    parser.add_argument("--done", type=Path, required=True)
    parser.add_argument("--objects", choices=["files", "opaque"], required=True)
    parser.add_argument("--listen", required=True, help="HOST:PORT that drops single objects")
    given = parser.parse_args()
    hot = [f"/10k/hot-{number}" for number in range(given.hot)]
    cold = [f"/1m/cold-{number}" for number in range(given.cold)]
    _fetch(given.cache, cold + hot, "MISS")
    if given.objects == "opaque":
        _keep(given.cache, cold + hot)
        _settle_opaque(given.cache, given.folder, hot, cold)
    else:
        _settle(given.cache, given.folder, hot, cold)
    mixed = [
        f"/{size}/mixed-{number}" for number in range(given.mixed) for size in ("10k", "100k", "1m")
    ]
    _fetch(given.cache, mixed, "MISS")
    host, _, port = given.listen.rpartition(":")
    with _Server((host, int(port)), _dropper(given.folder)) as server:
        given.done.touch()
        server.serve_forever()


class _Server(TCPServer):
    # A closed connection of the role that had the port before may still linger there.
    allow_reuse_address = True


def _dropper(folder: Path) -> type[BaseHTTPRequestHandler]:
    class Dropper(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            memory.drop([_file(folder, self.path)])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Write nothing: the log is for checks that fail."""

    return Dropper


def _settle(cache: str, folder: Path, hot: list[str], cold: list[str]) -> None:
    """Warm the hot objects and check each object's own file in memory."""
    files = {path: _file(folder, path) for path in cold + hot}
    memory.drop(files.values())
    for _ in range(_LOOKS):
        _fetch(cache, hot, "HIT")
        found, pages = memory.resident(files[path] for path in hot)
        if found >= _RESIDENT_MIN * pages:
            break
    else:
        _machine_fault(f"{found} of {pages} pages of hot objects are in memory, expected all")
    _expect_cold(*memory.resident(files[path] for path in cold))


def _keep(cache: str, paths: list[str]) -> None:
    """Fetch again what the cache has not kept: some keep nothing new while much waits to be
    written to the disk.
    """
    for _ in range(_TRIES):
        lacking = _lacking(cache, paths)
        if not lacking:
            return
        _fetch(cache, lacking, "MISS")
    _machine_fault(f"{len(lacking)} of {len(paths)} objects were not kept, expected none")


def _lacking(cache: str, paths: list[str]) -> list[str]:
    """Return the paths of the objects that the cache does not have."""
    connection = http.client.HTTPConnection(cache, timeout=20)
    lacking = []
    for path in paths:
        connection.request("HEAD", path)
        answer = connection.getresponse()
        answer.read()
        if not answer.getheader("X-Cache", "").startswith("HIT"):
            lacking.append(path)
    connection.close()
    return lacking


def _settle_opaque(cache: str, folder: Path, hot: list[str], cold: list[str]) -> None:
    """Warm the hot objects. All pages in memory beyond theirs count as cold."""
    stores = folder.glob("disk*")
    files = [file for store in stores for file in (store, *store.rglob("*")) if file.is_file()]
    memory.drop(files)
    _fetch(cache, hot, "HIT")
    found, _ = memory.resident(files)
    allowed = len(hot) * (_HOT_BYTES // _PAGE + 2)
    _expect_cold(max(0, found - allowed), len(cold) * _COLD_BYTES // _PAGE)
    for _ in range(_LOOKS):
        before = memory.read_by_users(files)
        _fetch(cache, hot, "HIT")
        if (read := memory.read_by_users(files) - before) == 0:
            return
    _machine_fault(
        f"for hot objects {read} bytes came from the disk again and again, expected none"
    )


def _expect_cold(found: int, pages: int) -> None:
    if found > _RESIDENT_MAX * pages:
        _machine_fault(f"{found} of {pages} pages of cold objects are in memory, expected none")


def _machine_fault(what: str) -> NoReturn:
    print(f"fill: {what}", file=sys.stderr)
    sys.exit(os.EX_TEMPFAIL)


def _fetch(cache: str, paths: list[str], expected: str) -> None:
    """Request each path once. Exit unless each is answered with the expected cache status."""
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
        # Some add their own name.
        found = (answer.status, answer.getheader("X-Cache", "").split(" ")[0])
        if found != (200, expected):
            sys.exit(f"fill: {path}: found {found}, expected (200, {expected!r})")
    connection.close()


def _file(folder: Path, path: str) -> Path:
    """Return nginx's cache file of `path` (levels=1:2)."""
    name = hashlib.md5(path.encode()).hexdigest()
    found = list(folder.glob(f"disk*/{name[-1]}/{name[-3:-1]}/{name}"))
    if len(found) != 1:
        sys.exit(f"fill: {path} is in {len(found)} files of the cache, expected 1")
    return found[0]


if __name__ == "__main__":
    main()
