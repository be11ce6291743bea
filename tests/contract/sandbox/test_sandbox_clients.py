"""Clients that want to keep the daemon from others: by connections, half requests, descriptors."""

import itertools
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from sandboxes import Sandbox, udf

SIZE = 1 << 20
MODE = pytest.mark.parametrize("mode", ["namespaces"], indirect=True)


@MODE
def test_a_lack_of_descriptors_passes(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('hello')}")
    launcher = sandbox.process.pid
    taken = {int(each.name) for each in Path(f"/proc/{launcher}/fd").iterdir()}
    none_left = next(number for number in itertools.count() if number not in taken)
    soft, hard = resource.prlimit(launcher, resource.RLIMIT_NOFILE)
    # What the broker passes with its question does not arrive.
    resource.prlimit(launcher, resource.RLIMIT_NOFILE, (none_left, hard))
    done = sandbox.cli("load", "--workers", "1", "other", str(udf("hello")), text=True)
    assert done.returncode == 1 and "the launcher" in done.stderr, done.stderr
    resource.prlimit(launcher, resource.RLIMIT_NOFILE, (soft, hard))
    sandbox.load("other", udf("hello"), "--workers", "1")
    assert sandbox.call("other") and sandbox.call("udf")
