"""The module and its queues in an nginx with gcc's address sanitiser: answers, reloads, a full
queue, files that threads open and an end amid reads, and nothing that it finds."""

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import configure, get, get_all, right
from caches import FEW, OTHERS, QUEUES, loaded
from disks import mounted

from tare.lab.errors import RoleError

# Where this is the first test of its nginx, it builds that.
pytestmark = [pytest.mark.contract, pytest.mark.timeout(900)]
QUIET = {"ASAN_OPTIONS": "detect_leaks=0"}
"""nginx leaves its memory to the end of the process."""
SMALL = FEW | {"pool_threads": 2, "max_queue": 8, "memory_mb": 0}
"""A queue that can be filled."""


def faults(folder) -> list[str]:
    """What the sanitiser, or nginx itself, has found wrong."""
    lines = (folder / "sut" / "sut.log").read_text(errors="replace").splitlines()
    signs = ("Sanitizer", "runtime error", "[alert]")
    return [line for line in lines if any(sign in line for sign in signs)]


def test_nothing_is_found(start_of):
    site = start_of("cache-nginx-asan", QUIET)("mutex", SMALL)
    site.run_oracle()
    queues = [loaded.variants[name].properties["queue"] for name in OTHERS]
    bounded = [f"{name} nowait uring max_reads=1 max_queue=2 open" for name in ("threads", "ck")]
    for queue in [*queues, *(f"{name} nowait uring open" for name in QUEUES), *bounded]:
        configure(site, queue)
        size = 300_000
        paths = [f"/any/VIDEO-{number}-{size}" for number in range(8)]
        # More than the queue takes: some are refused, and what is whole is right.
        for path, (status, body) in zip(paths * 8, get_all(site, paths * 8, 32), strict=True):
            assert status in (0, 500) or (status, body) == right(path, size), queue
        assert get(site, "/10k/hot-1") == right("/10k/hot-1", 10_240)
    configure(site, "eventdev-sw nowait")
    with ThreadPoolExecutor(8) as pool:
        for number in range(8):
            pool.submit(get, site, f"/any/new-{number}-3000000")
        time.sleep(0.1)
        os.kill(site.processes["sut"].pid, signal.SIGTERM)
    time.sleep(1.0)
    site.processes.pop("sut")
    assert faults(site.folder) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to mount a disk")
@pytest.mark.parametrize("queue", ["threads nowait uring max_reads=1 open", "mutex open"])
def test_nothing_is_found_where_threads_open_files(start_of, tmp_path, queue):
    site = start_of("cache-nginx-asan", QUIET)("mutex", SMALL)
    size = 300_000
    paths = [f"/any/TEXT-{number}-{size}" for number in range(8)]
    with mounted(tmp_path / "image", site.folder / "sut" / "disk0", 64) as disk:
        assert get_all(site, paths) == [right(path, size) for path in paths]
        configure(site, queue)
        disk.forget()
        for path, (status, body) in zip(paths * 8, get_all(site, paths * 8, 32), strict=True):
            assert status in (0, 500) or (status, body) == right(path, size)
    assert faults(site.folder) == []


OVERRUN = """
#define _GNU_SOURCE
#include <errno.h>
#include <sys/uio.h>

/* Writes a byte beyond what the module asks for, as a read that is too long would. */
ssize_t preadv64v2(int fd, const struct iovec *part, int count, off64_t offset, int flags)
{
    ((volatile char *)part->iov_base)[part->iov_len] = 0;
    errno = EAGAIN;
    return -1;
}
"""


def test_a_fault_would_be_found(start_of, tmp_path):
    """A byte too many, into memory of one of nginx's pools."""
    source, library = tmp_path / "overrun.c", tmp_path / "overrun.so"
    source.write_text(OVERRUN)
    made = ["cc", "-shared", "-fPIC", "-fsanitize=address", source, "-o", library]
    subprocess.run(made, check=True)
    options = f"{QUIET['ASAN_OPTIONS']}:verify_asan_link_order=0"
    begin = start_of("cache-nginx-asan", {"ASAN_OPTIONS": options, "LD_PRELOAD": str(library)})
    site = begin("nowait", SMALL, begin=False)
    with pytest.raises(RoleError):
        site.start()
    assert any("heap-buffer-overflow" in line for line in faults(site.folder))
