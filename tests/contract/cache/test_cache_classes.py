"""Reads by io_uring, so many of each class at a time: none keeps another's from the disk, and what
finds no room is served as by stock nginx."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from asking import configure, get, get_all, right, tasks
from disks import mounted

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(os.geteuid() != 0, reason="takes root to mount a disk"),
]
SIZE = 400_000
VIDEOS = [f"/any/VIDEO-{number}-{SIZE}" for number in range(8)]
TEXT = f"/any/TEXT-{SIZE}"
READS_PER_S = 50
READ_KB = 64
"""Of the disk, and of nginx."""


@pytest.fixture
def begin(start, tmp_path):
    """A cache with a queue, and a slow disk with all objects on it and none of them in memory."""
    made = []

    @contextmanager
    def opened(queue: str, changed: dict):
        site = start("nowait-uring-open", {"read_kb": READ_KB} | changed)
        with mounted(tmp_path / "image", site.folder / "sut" / "disk0", 64) as disk:
            for path in (*VIDEOS, TEXT):
                assert get(site, path) == right(path, SIZE)
            configure(site, queue)
            disk.forget()
            group = site.processes["sut"].place.group
            with disk.reading_ahead(READ_KB):
                disk.slow_down(group, READS_PER_S)
                yield site
                disk.slow_down(group, 0)

    def run(queue: str, changed: dict | None = None):
        made.append(opened(queue, changed or {}))
        return made[-1].__enter__()

    yield run
    for each in made:
        each.__exit__(None, None, None)


def test_a_class_with_much_to_read_takes_no_other_ones_places(begin):
    site = begin("threads nowait uring max_reads=1 open")
    ended: list[str] = []

    def ask(path: str) -> None:
        assert get(site, path) == right(path, SIZE)
        ended.append(path)

    with ThreadPoolExecutor(9) as pool:
        asked = [pool.submit(ask, path) for path in VIDEOS]
        time.sleep(0.3)
        asked.append(pool.submit(ask, TEXT))
        for each in asked:
            each.result()
    # It takes turns with all videos together, and not with each of them.
    assert ended[0] == TEXT
    assert tasks(site)["uring_overflows"] == 0


@pytest.mark.parametrize("queue", ["threads", "ck"])
def test_what_finds_no_room_goes_to_the_pool(begin, queue):
    site = begin(f"{queue} nowait uring max_reads=1 max_queue=2")
    assert get_all(site, VIDEOS) == [right(path, SIZE) for path in VIDEOS]
    assert tasks(site)["uring_overflows"] > 0
    assert (tasks(site)["completed"] > 0) == (queue == "ck")


def test_what_finds_no_room_there_either_is_refused(begin):
    site = begin(
        "threads nowait uring max_reads=1 max_queue=1", {"pool_threads": 1, "max_queue": 1}
    )
    found = get_all(site, VIDEOS)
    whole = sum(each == right(path, SIZE) for path, each in zip(VIDEOS, found, strict=True))
    assert 1 <= whole < len(VIDEOS)
    assert "queue overflow" in (site.folder / "sut" / "sut.log").read_text()
    assert get(site, "/10k/hot-1") == right("/10k/hot-1", 10_240)
