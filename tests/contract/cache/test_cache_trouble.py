"""What stock nginx gets through, it gets through with any queue: reloads, ends, full queues."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import configure, forget, get, kept, right, tasks
from caches import OTHERS, QUEUES

pytestmark = pytest.mark.contract
SLOW = {"disk_mb_per_s": 4, "memory_mb": 0, "cold_count": 12}
"""A disk that reads four cold objects a second."""
SMALL = 10_240


def test_reloads_lose_no_request(start):
    site = start("ck")
    over = threading.Event()

    def ask(client: int) -> list[tuple[int, bytes]]:
        wrong, number = [], client
        while not over.is_set():
            number = (number + 1) % 20
            answer = get(site, f"/10k/hot-{number}")
            if answer != right(f"/10k/hot-{number}", SMALL):
                wrong.append(answer)
        return wrong

    queues = (
        "mutex", "rte nowait", "eventdev-sw", "threads", "spsc", "threads nowait uring", "ck uring",
        "eventdev-dsw nowait", "threads nowait uring open", "ck open",
        "mutex nowait uring max_reads=2 max_queue=2 open", "ck",
    )  # fmt: skip
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, client) for client in range(4)]
        posted = [tasks(site)["posted"]]
        try:
            for queue in queues:
                configure(site, queue)
                time.sleep(0.2)
                posted.append(tasks(site)["posted"])
        finally:
            over.set()
        assert [each.result() for each in asked] == [[], [], [], []]
    assert 0 < posted[0] < posted[-1] and posted == sorted(posted), "counts go on over reloads"
    site.run_oracle()


@pytest.mark.parametrize(
    "queue",
    ["lifo", "ck twice", "ck nowait uring more", "ck uring max_reads=0", "ck uring max_reads=few",
     "ck uring max_queue=2", "ck nowait max_reads=2"],
)  # fmt: skip
def test_a_queue_that_is_none_is_refused_and_the_old_one_goes_on(start, queue):
    site = start("ck")
    configure(site, queue, waits=False)
    time.sleep(0.3)
    assert get(site, "/10k/hot-1") == right("/10k/hot-1", SMALL)
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
    # On a busy machine a worker may take the second after which nginx's master kills it.
    for _ in range(3):
        log = ended_amid_reads(start, variant)
        assert "signal 11" not in log, log
        if "alert" not in log:
            return
    pytest.fail(f"it never ended by itself: {log}")


def ended_amid_reads(start, variant):
    """End nginx while reads wait for the disk; return what it logged."""
    site = start(variant, SLOW | {"read_kb": 32, "pool_threads": 4}, study="stall", readers="16")
    pool = stalled(site, 12)
    sut = site.processes["sut"]
    os.kill(sut.pid, signal.SIGTERM)
    give_up = time.monotonic() + 30
    while sut.pids() and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not sut.pids()
    site.processes.pop("sut")
    pool.shutdown()
    return (site.folder / "sut" / "sut.log").read_text()


@pytest.mark.parametrize("variant", ["threads", *QUEUES])
def test_a_full_queue_refuses_and_recovers(start, variant):
    # As many as the filling has clients, which may all post before the thread takes one.
    site = start(variant, SLOW | {"pool_threads": 1, "max_queue": 4}, study="stall", readers="16")
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda number: get(site, f"/1m/cold-{number}"), range(12)))
    whole = sum(status == 200 and len(body) == 1 << 20 for status, body in found)
    assert 1 <= whole < 12, "one is run and four wait, as in nginx's own pool"
    assert "queue overflow" in (site.folder / "sut" / "sut.log").read_text()
    if variant != "threads":
        assert tasks(site)["overflows"] > 0
    assert get(site, "/10k/hot-1") == right("/10k/hot-1", SMALL)


@pytest.mark.parametrize("variant", [name for name in QUEUES if name != "eventdev-dsw"])
def test_what_a_viewer_waits_for_first_comes_first(start, variant):
    """One thread, a slow disk, and reads of all classes that wait: they end in their order."""
    # A read takes some tenths of a second: all are there before one has ended, and their ends are
    # that far apart.
    slow = SLOW | {"disk_mb_per_s": 1, "pool_threads": 1, "read_kb": 512}
    site = start(variant, slow, study="stall", readers="16")
    # The last ones first, so that it is not the order in which they came.
    size = 300_000
    names = [f"/any/{kind}-{size}" for kind in ("other", "TEXT", "AUDIO", "VIDEO")]
    for name in names:
        assert get(site, name) == right(name, size)
        forget(kept(site.folder / "sut" / "disk0", name))
    ended: list[str] = []

    def ask(name: str) -> None:
        assert get(site, name) == right(name, size)
        ended.append(name)

    ahead = stalled(site, 2)
    with ThreadPoolExecutor(4) as pool:
        asked = []
        for name in names:
            asked.append(pool.submit(ask, name))
            time.sleep(0.01)
        for each in asked:
            each.result()
    ahead.shutdown()
    assert ended == names[::-1]
