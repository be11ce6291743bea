"""The exact answers of every cache, and the check of its counters against the origin's and the
instrument's.
"""

import hashlib
import http.client
import json
from collections.abc import Mapping

from tare.lab.project.hooks import Answered, OracleError, SiteView

_BLOCK = 65_536
_SIZES = (1, 4_095, 10_240, 65_537, 1_048_576, 3_000_001)
_CLASSES = ("VIDEO", "AUDIO", "TEXT", "other")
_RANGES = ((0, 0), (4_000, 4_200), (65_500, 65_600), (1_000_000, 1_048_575))
_PATIENCE_S = 30.0
_DROPS = 100
"""A disk may bring what a look for it in memory made the kernel read ahead before the look ends."""
_COUNTS = (
    "posted", "overflows", "completed", "depth_max", "wait_ns", "wait_max_ns", "thread_wakes",
    "loop_wakes", "nowait_hits", "nowait_misses", "open_hits", "open_misses",
)  # fmt: skip
"""What outcomes are made of, and a cache without the module does not count."""
_OTHERS = {"asked", "served", "hits", "served_bytes", "hit_bytes"}
"""Counts that are not of the queue."""


def oracle(site: SiteView) -> None:
    """Every byte of a miss, of a hit, of ranges of both, and of what only the disk has, by the way
    of reading under test.
    """
    before = counters(site)
    connection = _connect(site)
    for size in _SIZES:
        for kind in _CLASSES:
            path = f"/any/{kind}-{site.parameters['readers']}-{size}"
            for expected in ("MISS", "HIT", "HIT"):
                _compare(connection, path, (0, size - 1), 200, expected)
    whole = f"/any/ranges-{_SIZES[4]}"
    if not site.properties["range_fills"]:
        _compare(connection, f"/any/range-{_SIZES[4]}", _RANGES[-1], 206, "MISS")
        _compare(connection, whole, (0, _SIZES[4] - 1), 200, "MISS")
    for number, (first, last) in enumerate(_RANGES):
        expected = "HIT" if number or not site.properties["range_fills"] else "MISS"
        _compare(connection, whole, (first, last), 206, expected)
    if site.properties["objects"] == "files":
        _compare_cold(site, connection, whole, _SIZES[4])
    _knows_what_the_client_has(connection, whole)
    connection.close()
    if _has_module(site):
        _check_reads(site, before, counters(site))


def counters(site: SiteView) -> dict[str, int]:
    """Return the queue's counters and the origin's requests, this one included.

    High-water marks restart with each reading and do not add up. They are 0 until the window has
    opened, so their growth is the mark since the last reading before it. `counted` goes from 0 to 1
    likewise if the pool has counters; nginx's own has none.
    """
    tasks = dict.fromkeys(_COUNTS, 0)
    if _has_module(site):
        tasks = json.loads(_request(site, "status", "/tasks", "POST"))
    if _has_module(site) and site.study == "mixed":
        tasks |= json.loads(_request(site, "status", "/counts"))
    measured = (site.folder / "measuring").exists()
    marks = {name: value if measured else 0 for name, value in tasks.items() if "_max" in name}
    asked = int(_request(site, "asked", "/").split()[9])
    return tasks | marks | {"counted": int(measured and _has_own_queue(site)), "asked": asked}


def audit(
    site: SiteView, before: Mapping[str, int], after: Mapping[str, int], answered: Answered
) -> None:
    """All came from the cache, and what came was right; each task was run and came back once."""
    asked = after["asked"] - before["asked"] - 1
    if site.parameters.get("once"):
        _audit_misses(before, after, answered, asked)
    elif asked:
        raise OracleError(f"{asked} requests went to the origin, expected none of a full cache")
    if site.study == "queue":
        _audit_harness(site, before, after, answered)
        return
    wrong = {kind: answered.total.errors[kind] for kind in ("status", "body")}
    # nginx refuses a request whose task finds no room; another failure is nobody's right.
    refused = after["overflows"] - before["overflows"]
    if wrong["body"] or wrong["status"] > refused:
        raise OracleError(f"found {wrong} wrong answers, expected none but {refused} refused")


def _audit_misses(
    before: Mapping[str, int], after: Mapping[str, int], answered: Answered, asked: int
) -> None:
    """The cache has counted what came, and as misses what it asked for; some were never read."""
    served = after["served"] - before["served"]
    misses = served - (after["hits"] - before["hits"])
    came, load = answered.total.requests, answered.result.load
    connections = load.connections if load is not None else 0
    lost = connections + answered.total.failed
    if not came <= served <= came + lost:
        raise OracleError(f"the cache counted {served} answers, expected {came}, or {lost} more")
    if not misses <= asked <= misses + connections:
        raise OracleError(f"{asked} requests went to the origin, expected {misses}, the misses")


def _audit_harness(
    site: SiteView, before: Mapping[str, int], after: Mapping[str, int], answered: Answered
) -> None:
    if answered.result.failed:
        raise OracleError(f"the harness found {answered.result.errors}, expected no such task")
    came, counted = answered.total.counts["completed"], after["completed"] - before["completed"]
    if _has_own_queue(site) and counted != came:
        raise OracleError(f"the queue counted {counted} completed tasks, expected {came}")


def _has_module(site: SiteView) -> bool:
    """Return true for an nginx with the module, which counts, false for another cache."""
    return "queue" in site.properties


def _has_own_queue(site: SiteView) -> bool:
    """Return true if the pool's queue is the module's and not nginx's."""
    words = site.properties.get("queue", "").split()
    return bool(words) and words[0] != "threads"


def _knows_what_the_client_has(connection: http.client.HTTPConnection, path: str) -> None:
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    tag, age = answer.getheader("ETag"), answer.getheader("Cache-Control")
    if not tag or age != "max-age=31536000":
        raise OracleError(f"{path}: found ETag {tag!r} and Cache-Control {age!r}")
    connection.request("GET", path, headers={"If-None-Match": tag})
    answer = connection.getresponse()
    answer.read()
    if answer.status != 304:
        raise OracleError(f"{path} with its own tag: found status {answer.status}, expected 304")


def _compare(
    connection: http.client.HTTPConnection,
    path: str,
    part: tuple[int, int],
    status: int,
    cache: str,
) -> None:
    """Ask for a part of `path`, first and last offset, or with status 200 for all of it."""
    first, last = part
    headers = {"Range": f"bytes={first}-{last}"} if status == 206 else {}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    # Some add their own name.
    found = (answer.status, answer.getheader("X-Cache", "").split(" ")[0])
    if found != (status, cache):
        raise OracleError(f"{path}: found {found}, expected {(status, cache)}")
    if body != _content(path, last + 1)[first:]:
        raise OracleError(
            f"{path} bytes {first} to {last}, {cache}: {len(body)} bytes came that are not those"
        )


def _compare_cold(
    site: SiteView, connection: http.client.HTTPConnection, path: str, size: int
) -> None:
    """Compare `path` from the disk, until a lookup of it in memory has missed."""
    looks = _has_module(site) and "nowait" in site.properties["queue"].split()
    for _ in range(_DROPS):
        missed = looks and counters(site)["nowait_misses"]
        _forget(site, path)
        _compare(connection, path, (0, size - 1), 200, "HIT")
        if not looks or counters(site)["nowait_misses"] != missed:
            return


def _forget(site: SiteView, path: str) -> None:
    """Take the file in which nginx keeps `path` out of memory."""
    _request(site, "fill", path, "POST", status=204)


def _content(path: str, size: int) -> bytes:
    """The first `size` bytes of an object (components/cache-origin)."""
    blocks = range(-(-size // _BLOCK))
    made = (hashlib.shake_128(f"{path}\n{block}".encode()).digest(_BLOCK) for block in blocks)
    return b"".join(made)[:size]


def _check_reads(site: SiteView, before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """Check that the configured queue has done the work, and no other."""
    moved = {name for name in after if after[name] != before[name] and name not in _OTHERS}
    words = site.properties["queue"].split()
    nowait, uring = "nowait" in words, "uring" in words
    queue = {"posted", "completed", "thread_wakes", "loop_wakes", "wait_ns"}
    ring = {"uring_reads", "uring_submits"}
    own = queue if _has_own_queue(site) else set()
    expected, optional = ring if uring else own, own
    if nowait:
        expected = expected | {"nowait_hits", "nowait_misses"}
    if "open" in words:
        expected, optional = expected | {"open_hits"}, optional | {"open_misses"}
    if not expected <= moved <= expected | optional:
        raise OracleError(
            f"task_queue {site.properties['queue'] or 'not set'}: the counts that moved are "
            f"{sorted(moved)}, expected {sorted(expected)} and at most {sorted(optional)} beside"
        )


def _connect(site: SiteView, port: str = "cache") -> http.client.HTTPConnection:
    place = site.address[port], site.port[port]
    return http.client.HTTPConnection(*place, timeout=_PATIENCE_S)


def _request(site: SiteView, port: str, path: str, method: str = "GET", status: int = 200) -> bytes:
    connection = _connect(site, port)
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != status:
        raise OracleError(f"{path} on port {port} answers {answer.status}, expected {status}")
    return body
