"""A reader never sees half of one prefix and half of another."""

import os
import subprocess
from pathlib import Path

import pytest
from harness import loaded

pytestmark = pytest.mark.contract
CHANGES, LENGTH = 3000, 4000


def prefix(head: str, tail: str) -> str:
    return head + "m" * (LENGTH - 2) + tail


def test_no_prefix_is_torn(site, tmp_path):
    program = tmp_path / "reader"
    include = f"-I{loaded.folder / 'include'}"
    source = Path(__file__).with_name("reader.c")
    warnings = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", "-O2", *warnings, include, str(source), "-o", program], check=True)

    started = site("c-module", prefix="/none").start("controller")
    controller = started.processes["controller"]
    # No prefix that is set accepts this; the head of one and the tail of another would.
    target = prefix("x", "2")
    arguments = [program, f"/{started.tag}", str(CHANGES + 1), target]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as reader:
        # On one CPU, so that the reader is preempted in the middle of a match.
        for pid in (controller.pid, reader.pid):
            os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})
        # Three prefixes for two slots: a slot is always rewritten with another one.
        for number in range(CHANGES):
            line = f"prefix {prefix('xyz'[number % 3], '123'[number % 3])}\n"
            controller.stdin.write(line.encode())
        controller.stdin.flush()
        found, _ = reader.communicate(timeout=60)
    assert found == "0\n"
