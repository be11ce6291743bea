"""Counts of /proc, of a real process."""

import subprocess
import time

from tare.probes.activity import activity


def test_a_process_s_work_is_counted() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(["cat"], stdin=pipe, stdout=pipe, bufsize=0) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(b"x")
        child.stdout.read(1)
        before = activity([child.pid])
        after = before
        # Some kernels count CPU time in ticks; and without a pause cat may never have to wait.
        counted = ("cpu_ns", "switch.voluntary")
        while any(after[name] == before[name] for name in counted):
            for _ in range(200):
                child.stdin.write(b"x")
                child.stdout.read(1)
            time.sleep(0.001)
            after = activity([child.pid])
        child.stdin.close()
    assert before["fault.minor"] > 0
    assert after["cpu_ns"] > before["cpu_ns"]
    assert after["switch.voluntary"] > before["switch.voluntary"]
    assert after["queued_ns"] >= before["queued_ns"]
    assert after["cpu.user_ns"] + after["cpu.kernel_ns"] <= after["cpu_ns"] + 20_000_000


def test_processes_that_ended_count_nothing() -> None:
    assert set(activity([2**22 + 1]).values()) == {0}
