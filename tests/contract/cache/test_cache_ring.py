"""A ring that takes less than it is given, nothing at all, or gives reads back still serves each
waiting request.
"""

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import change, forget, get, get_all, kept, reload, right, tasks, until

pytestmark = pytest.mark.contract
SIZE = 300_000
PATHS = [f"/any/{number}-{SIZE}" for number in range(8)]
RIGHT = [right(path, SIZE) for path in PATHS]

SHORT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <liburing.h>

/* The last of several reads stays behind, as where the kernel has no memory for it. */
int io_uring_submit(struct io_uring *ring)
{
    int (*submit)(struct io_uring *) = dlsym(RTLD_NEXT, "io_uring_submit");
    unsigned kept = io_uring_sq_ready(ring) > 1;

    ring->sq.sqe_tail -= kept;
    int taken = submit(ring);
    ring->sq.sqe_tail += kept;
    return taken;
}
"""

BUSY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>

int io_uring_submit(struct io_uring *ring)
{
    static unsigned calls;
    int (*submit)(struct io_uring *) = dlsym(RTLD_NEXT, "io_uring_submit");

    return ++calls % 3 == 0 ? -EBUSY : submit(ring);
}
"""

REFUSED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>
#include <unistd.h>

int io_uring_submit(struct io_uring *ring)
{
    int (*submit)(struct io_uring *) = dlsym(RTLD_NEXT, "io_uring_submit");

    return access("FLAG", F_OK) == 0 ? -EBUSY : submit(ring);
}
"""

FORBIDDEN = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>
#include <unistd.h>

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
    int (*init)(unsigned, struct io_uring *, unsigned) = dlsym(RTLD_NEXT, "io_uring_queue_init");

    return access("FLAG", F_OK) == 0 ? -EPERM : init(entries, ring, flags);
}
"""

GIVEN_BACK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>

/* Every third read was not made. */
unsigned io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned most)
{
    static unsigned reads;
    unsigned (*peek)(struct io_uring *, struct io_uring_cqe **, unsigned) =
        dlsym(RTLD_NEXT, "io_uring_peek_batch_cqe");
    unsigned found = peek(ring, cqe, most);

    for (unsigned each = 0; each < found; each++)
        if (++reads % 3 == 0)
            cqe[each]->res = reads % 2 ? -EAGAIN : -EINTR;
    return found;
}
"""


@pytest.fixture
def begin(start_of, tmp_path):
    """A cache whose liburing is replaced in part."""

    def run(source: str, changed: dict | None = None):
        file, library = tmp_path / "fault.c", tmp_path / "fault.so"
        file.write_text(source)
        made = ["cc", "-shared", "-fPIC", "-Wall", "-Werror", file, "-o", library]
        subprocess.run(made, check=True)
        return start_of("cache-nginx", {"LD_PRELOAD": str(library)})("uring", changed)

    return run


@pytest.mark.parametrize("fault", [SHORT, BUSY, GIVEN_BACK], ids=["short", "busy", "given-back"])
def test_every_read_comes_to_its_end(begin, fault):
    page = "".join(f'<!--#include virtual="{path}" -->' for path in PATHS)
    site = begin(fault)
    location = f"location = /page {{ ssi on; default_type text/html; return 200 '{page}'; }}"
    change(site, "sut", {"location / {": f"{location} location / {{"})
    reload(site)
    assert get_all(site, PATHS) == RIGHT
    before = tasks(site)
    # All in one turn of the event loop, and nobody after them.
    assert get(site, "/page") == (200, b"".join(body for _, body in RIGHT))
    assert get_all(site, PATHS * 4, 16) == RIGHT * 4
    after = tasks(site)
    assert after["uring_reads"] > before["uring_reads"]
    assert (after["uring_errors"] > before["uring_errors"]) == (fault is GIVEN_BACK)
    log = (site.folder / "sut" / "sut.log").read_text()
    assert ("io_uring_submit() failed" in log) == (fault is BUSY)
    assert "alert" not in log and "crit" not in log


def test_a_worker_ends_that_cannot_hand_in_its_reads(begin, tmp_path):
    site = begin(REFUSED.replace("FLAG", str(tmp_path / "refused")))
    (tmp_path / "refused").touch()
    with ThreadPoolExecutor(4) as pool:
        for path in PATHS[:4]:
            pool.submit(get, site, path)
        log = site.folder / "sut" / "sut.log"
        until(lambda: "io_uring_submit() failed" in log.read_text(), "nothing is refused")
        time.sleep(0.5)
        refusals = log.read_text().count("io_uring_submit() failed")
        assert refusals < 1_000, "it asks again and again without a pause"
        sut = site.processes["sut"]
        os.kill(sut.pid, signal.SIGTERM)
        until(lambda: not sut.pids(), "the worker does not end")
    site.processes.pop("sut")
    assert "alert" not in log.read_text()


def test_a_reload_to_a_ring_that_cannot_be_had_is_refused_and_the_old_workers_go_on(
    begin, tmp_path
):
    site = begin(FORBIDDEN.replace("FLAG", str(tmp_path / "forbidden")))
    (tmp_path / "forbidden").touch()
    os.kill(site.processes["sut"].pid, signal.SIGHUP)
    log = site.folder / "sut" / "sut.log"
    until(lambda: "io_uring cannot be had" in log.read_text(), "nobody says why not")
    time.sleep(0.5)
    assert "exited" not in log.read_text()
    assert get_all(site, PATHS) == RIGHT


def test_what_follows_on_a_read_of_the_ring_waits_for_its_turn_there(start):
    site = start("nowait-uring")
    path, size = "/any/long-1048576", 1_048_576
    assert get(site, path) == right(path, size)
    forget(kept(site.folder / "sut" / "disk0", path))
    before = tasks(site)
    assert get(site, path) == right(path, size)
    after = tasks(site)
    # By then the disk has read ahead; answered at once, all of the file would go out in one turn.
    assert after["uring_reads"] - before["uring_reads"] >= size // 131_072
