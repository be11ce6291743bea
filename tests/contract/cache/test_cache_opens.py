"""Cached files whose names are not in memory: threads open them, and the event loop goes on."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from asking import (
    change,
    configure,
    get,
    get_all,
    kept,
    reload,
    restarted,
    right,
    tasks,
    until,
)
from disks import Disk, mounted

from tare.lab.trial.site import Site

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(os.geteuid() != 0, reason="takes root to mount a disk"),
]
VARIANT = "nowait-uring-open"
SIZE = 10_240
PATHS = [f"/any/{number}-{SIZE}" for number in range(8)]
RIGHT = [right(path, SIZE) for path in PATHS]


@pytest.fixture
def begin(start, tmp_path) -> Iterator[Callable[..., tuple[Site, Disk]]]:
    """A cache, and its disk with all objects on it and nothing of it in memory."""
    made = []

    @contextmanager
    def opened(changed: dict, settings: dict[str, str], roles: tuple[str, ...]):
        site = start(VARIANT, changed)
        with mounted(tmp_path / "image", site.folder / "sut" / "disk0", 64) as disk:
            for role in roles:
                change(site, role, settings)
                reload(site, role)
            assert get_all(site, PATHS) == RIGHT
            disk.forget()
            yield site, disk

    def run(changed=None, settings=None, roles=("sut",)) -> tuple[Site, Disk]:
        made.append(opened(changed or {}, settings or {}, roles))
        return made[-1].__enter__()

    yield run
    for each in made:
        each.__exit__(None, None, None)


def open_files(site: Site, folder: Path) -> list[str]:
    """What the cache's processes have open below a folder."""
    found = []
    for pid in site.processes["sut"].pids():
        # A process may end meanwhile, or close a file.
        with suppress(FileNotFoundError):
            for each in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(FileNotFoundError):
                    found.append(str(each.readlink()))
    return [each for each in found if each.startswith(f"{folder}/")]


def log_of(site: Site) -> str:
    return (site.folder / "sut" / "sut.log").read_text()


@pytest.mark.parametrize(
    "queue", ["threads nowait uring max_reads=16 max_queue=4096 open", "threads open",
              "threads nowait open", "mutex uring open", "spsc nowait open"],
)  # fmt: skip
def test_threads_open_what_is_cold_and_nobody_what_is_not(begin, queue):
    site, disk = begin()
    configure(site, queue)
    before = tasks(site)
    assert get_all(site, PATHS) == RIGHT
    cold = tasks(site)
    assert cold["open_misses"] - before["open_misses"] == len(PATHS)
    assert get_all(site, PATHS) == RIGHT
    warm = tasks(site)
    assert warm["open_misses"] == cold["open_misses"]
    assert warm["open_hits"] - cold["open_hits"] == len(PATHS)
    assert warm["open_overflows"] == before["open_overflows"]
    until(lambda: not open_files(site, disk.folder), "files stay open")


def test_a_file_that_is_gone_is_fetched_again(begin):
    site, disk = begin()
    kept(disk.folder, PATHS[0]).unlink()
    disk.forget()
    assert get_all(site, PATHS[:1] * 4) == RIGHT[:1] * 4
    assert "alert" not in log_of(site) and "crit" not in log_of(site)


@contextmanager
def slow(site: Site, disk: Disk, reads_per_s: int = 2) -> Iterator[None]:
    """A disk that takes seconds for the name of one file."""
    group = site.processes["sut"].place.group
    disk.slow_down(group, reads_per_s)
    yield
    disk.slow_down(group, 0)


def sent_for(site: Site, before: int, count: int = 1) -> None:
    """Wait until so many threads were sent: the page is answered by the very event loop."""
    until(lambda: tasks(site)["open_misses"] == before + count, "no thread was sent")


def test_others_are_served_while_a_thread_opens(begin):
    site, disk = begin()
    assert get(site, PATHS[0]) == RIGHT[0]
    before = tasks(site)["open_misses"]
    with ThreadPoolExecutor(1) as pool, slow(site, disk):
        cold = pool.submit(get, site, PATHS[1])
        sent_for(site, before)
        assert get_all(site, PATHS[:1] * 20) == RIGHT[:1] * 20
        assert not cold.done()
    assert cold.result() == RIGHT[1]


def test_a_reload_waits_for_what_a_thread_opens(begin):
    site, disk = begin()
    before = tasks(site)["open_misses"]
    with ThreadPoolExecutor(1) as pool, slow(site, disk):
        cold = pool.submit(get, site, PATHS[1])
        sent_for(site, before)
        configure(site, "threads", waits=False)
        time.sleep(0.5)
    assert cold.result() == RIGHT[1]


def test_a_worker_ends_at_once_while_threads_open(begin):
    site, disk = begin()
    sut = site.processes["sut"]
    before = tasks(site)["open_misses"]
    with ThreadPoolExecutor(4) as pool, slow(site, disk):
        for path in PATHS[:4]:
            pool.submit(get, site, path)
        sent_for(site, before, 4)
        os.kill(sut.pid, signal.SIGTERM)
    until(lambda: not sut.pids(), "workers do not end")
    site.processes.pop("sut")
    assert "alert" not in log_of(site) and "signal 11" not in log_of(site)


def over_http1(site: Site, path: str) -> socket.socket:
    client = socket.create_connection((site.host, site.port["cache"]))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: cache\r\n\r\n".encode())
    return client


def over_http2(site: Site, path: str) -> socket.socket:
    """One request in a stream (RFC 9113), its fields spelled out (RFC 7541)."""
    client = socket.create_connection((site.host, site.port["cache"]))
    fields = b"\x82\x86\x04" + bytes([len(path)]) + path.encode() + b"\x01\x05cache"
    client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b""))
    client.sendall(frame(1, 5, 1, fields))
    return client


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def close(client: socket.socket) -> None:
    client.close()


def cancel(client: socket.socket) -> None:
    """The stream only."""
    client.sendall(frame(3, 0, 1, (8).to_bytes(4)))
    time.sleep(0.1)
    client.close()


@pytest.mark.parametrize(
    ("ask", "leave"), [(over_http1, close), (over_http2, close), (over_http2, cancel)]
)
def test_a_client_that_leaves_while_a_thread_opens(begin, ask, leave):
    site, disk = begin(settings={"task_queue_class $": "http2 on; task_queue_class $"})
    before = tasks(site)["open_misses"]
    with slow(site, disk):
        client = ask(site, PATHS[1])
        sent_for(site, before)
        leave(client)
        time.sleep(0.3)
    until(lambda: not open_files(site, disk.folder), "files stay open")
    assert get_all(site, PATHS) == RIGHT
    assert "alert" not in log_of(site) and "signal" not in log_of(site)


def test_a_full_pool_leaves_it_to_the_event_loop(begin):
    site, disk = begin({"pool_threads": 1, "max_queue": 1})
    before = tasks(site)
    with ThreadPoolExecutor(8) as pool:
        with slow(site, disk, reads_per_s=1):
            # One with the thread, one that waits, and one for which the event loop stands still.
            found = [pool.submit(get, site, path) for path in PATHS[:2]]
            sent_for(site, before["open_misses"], 2)
            found += [pool.submit(get, site, path) for path in PATHS[2:]]
            time.sleep(0.5)
        assert [each.result() for each in found] == RIGHT
    assert tasks(site)["open_overflows"] > before["open_overflows"]


def test_requests_within_a_request(begin):
    page = "".join(f'<!--#include virtual="{path}" -->' for path in PATHS)
    location = f"location = /page {{ ssi on; default_type text/html; return 200 '{page}'; }}"
    site, _ = begin(settings={"location / {": f"{location} location / {{"})
    before = tasks(site)["open_misses"]
    assert get(site, "/page") == (200, b"".join(body for _, body in RIGHT))
    assert tasks(site)["open_misses"] > before


def test_an_object_with_variants(begin):
    """nginx opens the object's own file, and then that of the variant."""
    vary = {"proxy_buffering off;": "proxy_buffering off; add_header Vary X-Kind always;"}
    site, disk = begin(settings=vary, roles=("origin",))
    for kind in ("a", "b"):
        assert get(site, PATHS[1], {"X-Kind": kind}) == RIGHT[1]
    disk.forget()
    asked = site.hooks.counters(site)["asked"]
    before = tasks(site)
    for kind in ("b", "a", "b"):
        assert get(site, PATHS[1], {"X-Kind": kind}) == RIGHT[1]
    assert site.hooks.counters(site)["asked"] == asked + 1, "but for that question, none was asked"
    assert tasks(site)["open_misses"] > before["open_misses"]
    assert "crit" not in log_of(site)


def test_files_that_nginx_holds_open(begin):
    held = "open_file_cache max=100 inactive=60s; open_file_cache_valid 60s; location / {"
    site, disk = begin(settings={"location / {": held})
    assert get_all(site, PATHS) == RIGHT
    once = tasks(site)
    assert once["open_misses"] >= len(PATHS)
    assert get_all(site, PATHS) == RIGHT
    assert tasks(site)["open_hits"] == once["open_hits"], "they are still open"
    assert len(open_files(site, disk.folder)) == len(PATHS)
    configure(site, "threads", waits=False)
    until(lambda: not open_files(site, disk.folder), "the old worker does not end")


def test_names_that_the_cache_does_not_know_yet(begin):
    """After a start nginx knows no file until its loader, a minute later, has come by."""
    site, disk = begin()
    with restarted(site, disk.forget):
        before = site.hooks.counters(site)
        # One request for each: nginx takes a second one, that comes meanwhile, to the origin.
        assert get_all(site, PATHS) == RIGHT
        assert get_all(site, PATHS) == RIGHT
        after = site.hooks.counters(site)
        assert after["asked"] - before["asked"] == 1, "but for that question, none was asked"
        assert after["open_misses"] > before["open_misses"]
