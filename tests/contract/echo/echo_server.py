"""Starts echo servers as a test wants them: without cgroups, pinning or measuring."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tare.lab.machine import ports
from tare.lab.project import build, catalog

loaded = catalog.load("echo")
VARIANTS = sorted(loaded.variants)
SHAPES = ("echo", "relay")
HOST = "127.0.0.1"
BPF = ("sockmap", "sockmap-parser", "skmsg")


@cache
def program(variant: str) -> str:
    """The built server of a variant."""
    own = build.variant(loaded, variant, print).own
    assert own is not None
    return str(own / "bin" / f"echo-{variant}")


class Server:
    """A server, and in a relay its backend; stopped by `stop`."""

    def __init__(
        self,
        variant: str,
        folder: Path,
        shape: str = "echo",
        *extra: str,
        wrap: tuple[str, ...] = (),
    ) -> None:
        self.held = ports.hold(HOST, ["echo", "backend"])
        self.port, backend = self.held.numbers.values()
        self.control = folder / "sut"
        self.log = folder / "sut.log"
        self.backend = None
        if shape == "relay":
            argv = [program("epoll"), "--listen", f"{HOST}:{backend}"]
            self.backend = self._start(argv, folder / "backend.log", backend)
        argv = [
            *wrap, program(variant), "--listen", f"{HOST}:{self.port}", "--shape", shape,
            "--backend", f"{HOST}:{backend}", "--control", str(self.control), *extra,
        ]  # fmt: skip
        self.process = self._start(argv, self.log, self.port)

    def statistics(self) -> dict[str, Any]:
        """What the control socket says."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(10)
            asked.connect(str(self.control))
            with asked.makefile("rb") as stream:
                return dict(json.loads(stream.read()))

    def descriptors(self) -> int:
        """How many the process has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def peak_bytes(self) -> int:
        """The most memory of its own that was resident at a time."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        (kib,) = (int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
        return kib * 1024

    def settles(self, connections: int = 0) -> dict[str, Any]:
        """The statistics as soon as it has no more than so many connections."""
        wait_until(
            lambda: self.statistics()["connections"] <= connections,
            lambda: f"connections are left: {self.statistics()}",
        )
        return self.statistics()

    def stop(self) -> int:
        """Ask it to end; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(10)
        self.kill()
        return code

    def kill(self) -> None:
        """End what still runs."""
        for each in (self.process, self.backend):
            if each is not None and each.poll() is None:
                each.kill()
                each.wait()

    def _start(self, argv: list[str], log: Path, port: int) -> "subprocess.Popen[bytes]":
        with log.open("wb") as stream:
            made = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream)
        try:
            wait_until(lambda: accepts(port) or made.poll() is not None, lambda: log.read_text())
            assert made.poll() is None, log.read_text()
        except BaseException:
            made.kill()
            made.wait()
            raise
        return made


def refusal(variant: str, *extra: str, wrap: tuple[str, ...] = ()) -> str:
    """What a server that cannot start says; it must be one line, and no success."""
    with ports.hold(HOST, ["echo"]) as held:
        argv = [*wrap, program(variant), "--listen", f"{HOST}:{held.numbers['echo']}", *extra]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    return done.stderr


def accepts(port: int) -> bool:
    """Whether somebody listens."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def wait_until(
    condition: Callable[[], bool], otherwise: Callable[[], str], timeout_s: float = 15.0
) -> None:
    """Poll until it holds."""
    give_up = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up, otherwise()
        time.sleep(0.01)


def may_load_bpf() -> bool:
    """Whether this process is root, as the programs want it."""
    return os.geteuid() == 0
