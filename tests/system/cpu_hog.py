"""A binary that takes all the CPUs it can get, beside eight honest callers of another one.

    python tests/system/cpu_hog.py [--mode namespaces] [--calls 200] [--hogs 8]

Needs root, and a machine on which nothing else runs. Prints the median and the 99th percentile of
the honest calls' times: alone, beside the hog, and beside it with `tare-sandbox serve --fair-cpu`.
"""

import argparse
import contextlib
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "contract" / "sandbox"))

from sandboxes import Sandbox, udf, wait_until, wire

_HONEST = 8
_PRIMES_BELOW = 100_000
"""What an honest call counts: some milliseconds of CPU time."""


def main() -> None:
    """Measure each of the three, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", default="namespaces")
    parser.add_argument("--calls", type=int, default=200, help="of each honest caller")
    parser.add_argument("--hogs", type=int, default=8, help="calls of the hog at once")
    asked = parser.parse_args()
    print(f"{'honest calls':24} {'median':>10} {'p99':>10}")
    for title, hogs, options in (
        ("alone", 0, ()),
        ("beside a hog", asked.hogs, ()),
        ("beside it, --fair-cpu", asked.hogs, ("--fair-cpu",)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            sandbox = Sandbox(asked.mode, Path(folder), *options)
            try:
                times = sorted(_measured(sandbox, asked.calls, hogs))
            finally:
                sandbox.kill()
        median, p99 = (times[int(part * (len(times) - 1))] for part in (0.5, 0.99))
        print(f"{title:24} {median * 1e3:7.1f} ms {p99 * 1e3:7.1f} ms", flush=True)


def _measured(sandbox: Sandbox, calls: int, hogs: int) -> list[float]:
    """How long each honest call took, in seconds."""
    sandbox.load("honest", udf("sieve"), "--workers", str(2 * _HONEST))
    sandbox.load("hog", udf("attack"), "--workers", str(max(hogs, 1)), "--deadline-ms", "600000")
    wait_until(lambda: sandbox.stats("honest")["ready"] == 2 * _HONEST, lambda: "not ready")
    times: list[float] = []

    def call() -> None:
        for _ in range(calls):
            begun = time.monotonic()
            sandbox.call("honest", wire.number_field(1, _PRIMES_BELOW))
            times.append(time.monotonic() - begun)

    with _loops(sandbox, hogs):
        callers = [threading.Thread(target=call) for _ in range(_HONEST)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert len(times) == _HONEST * calls, "a call failed"
    return times


@contextlib.contextmanager
def _loops(sandbox: Sandbox, count: int) -> Iterator[None]:
    """So many calls of the hog that compute without end."""
    call = wire.bytes_field(1, b"hog") + wire.bytes_field(2, wire.bytes_field(1, b"endless_loop"))
    frame = wire.bytes_field(2, call)
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            line = stack.enter_context(socket.socket(socket.AF_UNIX))
            line.connect(sandbox.socket)
            line.sendall(wire.varint(len(frame)) + frame)
        yield


if __name__ == "__main__":
    main()
