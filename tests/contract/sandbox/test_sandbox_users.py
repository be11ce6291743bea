"""No two daemons of a machine run functions as the same user at a time."""

import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sandboxes import FIRST_USER, Sandbox, descendants, program, udf, wait_until

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root's slots have users of their own"),
]
WORKERS = 3
WITH_BROKER = WORKERS + 1
# Namespaces of its own but for that of users, and a /run that nobody shares.
APART = """
exec unshare --mount --pid --net --ipc --uts --fork --mount-proc --kill-child \
    sh -c 'mount -t tmpfs none /run && exec "$@"' sh "$@"
"""


def users(pid: int) -> set[int]:
    """Users of a daemon's workers, and of its broker."""
    found = set()
    for each in descendants(pid):
        user = Path(f"/proc/{each}").stat().st_uid
        found |= {user} if user >= FIRST_USER else set()
    return found


def free(user: int) -> bool:
    """Whether no process of the machine has claimed it."""
    with Path("/proc/self/ns/user").open("rb") as place:
        ask = _range(fcntl.F_WRLCK, user)
        found = fcntl.fcntl(place, fcntl.F_OFD_GETLK, ask)
    return int.from_bytes(found[:2], "little") == fcntl.F_UNLCK


def _range(kind: int, start: int) -> bytes:
    """`struct flock` of x86-64 for one byte."""
    words = ((kind, 2), (os.SEEK_SET, 6), (start, 8), (1, 8), (0, 8))
    return b"".join(word.to_bytes(size, "little") for word, size in words)


@contextmanager
def apart(folder: Path) -> Iterator[int]:
    """A daemon that shares nothing with others but the kernel and its users; its number."""
    argv = [program(), "serve", "--mode", "namespaces", "--socket", str(folder / "apart")]
    argv += ["--workers", str(WORKERS), "--load", f"udf={udf('hello')}"]
    log = folder / "log"
    with log.open("wb") as stream:
        started = subprocess.Popen(
            ["sh", "-c", APART, "sh", *argv], stdout=stream, stderr=subprocess.STDOUT
        )
    try:
        wait_until(
            lambda: "serving in" in log.read_text() or started.poll() is not None, log.read_text
        )
        assert started.poll() is None, log.read_text()
        wait_until(lambda: len(users(started.pid)) == WITH_BROKER, lambda: str(users(started.pid)))
        yield started.pid
    finally:
        started.kill()
        started.wait()


def test_two_daemons_have_no_user_in_common(serve: Callable[..., Sandbox], tmp_path: Path) -> None:
    sandbox = serve("namespaces", "--workers", str(WORKERS), "--load", f"udf={udf('hello')}")
    pid = sandbox.process.pid
    wait_until(lambda: len(users(pid)) == WITH_BROKER, lambda: str(users(pid)))
    own = users(pid)
    with apart(tmp_path) as stranger:
        assert not own & users(stranger)
        claimed = own | users(stranger)
        assert not any(free(user) for user in claimed)
    sandbox.kill()
    # Those of another test's daemon may be among them for a while.
    wait_until(lambda: all(free(user) for user in claimed), lambda: str(claimed))
