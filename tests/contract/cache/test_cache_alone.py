"""The nginx that RECOMMENDED.md builds: the module, none of its queues nor their libraries."""

import subprocess

import pytest
from asking import change, get, restarted, right

from tare.lab.project import build

# Where this is the first test of its nginx, it builds that.
pytestmark = [pytest.mark.contract, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def program():
    return build.component("cache-nginx-alone", print) / "sbin" / "nginx"


def test_it_answers_every_byte(start, program):
    site = start("nowait-uring-open")

    def leave_out_the_harness() -> None:
        change(site, "sut", {"task_harness disk;": "return 404;"})

    with restarted(site, leave_out_the_harness, program):
        site.hooks.oracle(site)
        assert get(site, "/10k/hot-1") == right("/10k/hot-1", 10_240)


def test_it_has_no_other_queue(program, tmp_path):
    (tmp_path / "nginx.conf").write_text("task_queue ck; events {}\n")
    argv = [program, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and 'found "ck", expected threads' in done.stderr
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert "liburing" in needed and "libnuma" not in needed
