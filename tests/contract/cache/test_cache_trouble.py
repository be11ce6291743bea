"""What stock nginx gets through, it gets through with any queue: reloads, ends, full queues."""

import hashlib
import http.client
import json
import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from caches import OTHERS

pytestmark = pytest.mark.contract
SLOW = {"disk_mb_per_s": 4, "memory_mb": 0, "cold_count": 12}
"""A disk that reads four cold objects a second."""
_PATIENCE_S = 60.0


def get(site, path: str) -> tuple[int, bytes]:
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


def tasks(site) -> dict[str, int]:
    connection = http.client.HTTPConnection(site.host, site.port["status"], timeout=5)
    connection.request("GET", "/tasks")
    return json.loads(connection.getresponse().read())


def small(number: int) -> bytes:
    return hashlib.shake_128(f"/10k/hot-{number}\n0".encode()).digest(10_240)


def configure(site, queue: str) -> None:
    """Another queue, by a reload."""
    file: Path = site.folder / "sut" / "nginx.conf"
    bare = re.sub(r"^task_queue .*;$", "", file.read_text(), flags=re.MULTILINE)
    file.write_text(f"task_queue {queue};\n{bare}")
    os.kill(site.processes["sut"].pid, signal.SIGHUP)


def test_reloads_lose_no_request(start):
    site = start("ck")
    over = threading.Event()

    def ask(client: int) -> list[tuple[int, bytes]]:
        wrong, number = [], client
        while not over.is_set():
            number = (number + 1) % 20
            answer = get(site, f"/10k/hot-{number}")
            if answer != (200, small(number)):
                wrong.append(answer)
        return wrong

    queues = ("mutex", "rte nowait", "threads", "spsc", "threads nowait uring", "ck uring", "ck")
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, client) for client in range(4)]
        posted = [tasks(site)["posted"]]
        try:
            for queue in queues:
                configure(site, queue)
                time.sleep(0.4)
                posted.append(tasks(site)["posted"])
        finally:
            over.set()
        assert [each.result() for each in asked] == [[], [], [], []]
    assert 0 < posted[0] < posted[-1] and posted == sorted(posted), "counts go on over reloads"
    site.ask_oracle()


@pytest.mark.parametrize("queue", ["lifo", "ck twice", "ck nowait uring more"])
def test_a_queue_that_is_none_is_refused_and_the_old_one_goes_on(start, queue):
    site = start("ck")
    configure(site, queue)
    time.sleep(0.3)
    assert get(site, "/10k/hot-1") == (200, small(1))
    assert "task_queue" in (site.folder / "sut" / "sut.log").read_text()


def stalled(site, count: int) -> ThreadPoolExecutor:
    """So many clients that wait for cold objects."""
    pool = ThreadPoolExecutor(count)
    for number in range(count):
        pool.submit(get, site, f"/1m/cold-{number}")
    time.sleep(0.5)
    return pool


@pytest.mark.parametrize("variant", OTHERS)
def test_a_worker_ends_at_once_amid_reads(start, variant):
    site = start(variant, SLOW | {"read_kb": 32, "pool_threads": 4}, readers="16")
    pool = stalled(site, 12)
    sut = site.processes["sut"]
    os.kill(sut.pid, signal.SIGTERM)
    give_up = time.monotonic() + 30
    while sut.pids() and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not sut.pids()
    site.processes.pop("sut")
    pool.shutdown()
    log = (site.folder / "sut" / "sut.log").read_text()
    assert "alert" not in log and "signal 11" not in log, log


@pytest.mark.parametrize("variant", ["threads", "mutex", "ck", "rte", "spsc"])
def test_a_full_queue_refuses_and_recovers(start, variant):
    # As many as the filling has clients, which may all post before the thread takes one.
    site = start(variant, SLOW | {"pool_threads": 1, "max_queue": 4}, readers="16")
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda number: get(site, f"/1m/cold-{number}"), range(12)))
    whole = sum(status == 200 and len(body) == 1 << 20 for status, body in found)
    assert 1 <= whole < 12, "one is run and four wait, as in nginx's own pool"
    assert "queue overflow" in (site.folder / "sut" / "sut.log").read_text()
    if variant != "threads":
        assert tasks(site)["overflows"] > 0
    assert get(site, "/10k/hot-1") == (200, small(1))
