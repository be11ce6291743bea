"""CPU time by owner: from BPF, and from /proc where BPF is not permitted."""

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from echo_client import connect, exchange
from echo_server import Server, may_load_bpf, wait_until

from tare.lab.project import build

pytestmark = pytest.mark.contract

_WITHOUT_BPF = ("setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin")
_BYTES = 32 << 20
_SPIN = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
_SPUN_NS = 300_000_000
_OWNERS = ("server_ns", "client_ns", "kernel_ns", "softirq_ns", "other_ns")


class Probe:
    """A running probe and its log."""

    def __init__(self, server: Server, folder: Path, wrap: tuple[str, ...] = ()) -> None:
        self.control, self.log = folder / "usage", folder / "usage.log"
        made = build.component("echo-cpu-usage", print) / "bin" / "echo-cpu-usage"
        argv = [*wrap, str(made), "--control", str(self.control), "--server", str(server.control)]
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )
        wait_until(
            lambda: self.control.exists() or self.process.poll() is not None, self.log.read_text
        )

    def read(self) -> dict[str, Any]:
        """All CPU time so far."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(10)
            # It is there a moment before it is listened to.
            wait_until(lambda: asked.connect_ex(str(self.control)) == 0, self.log.read_text)
            with asked.makefile("rb") as stream:
                return dict(json.loads(stream.read()))

    def end(self) -> None:
        """Stop it."""
        self.process.kill()
        self.process.wait()


@pytest.fixture(params=["bpf", "proc"])
def probe(
    request: pytest.FixtureRequest, serve: Callable[..., Server], tmp_path: Path
) -> Iterator[tuple[str, Server, Probe]]:
    if request.param == "bpf" and not may_load_bpf():
        pytest.skip("BPF programs are loaded as root only")
    server = serve("epoll")
    wrap = _WITHOUT_BPF if request.param == "proc" and may_load_bpf() else ()
    made = Probe(server, tmp_path, wrap)
    yield request.param, server, made
    made.end()


def test_the_server_and_a_client_are_charged_for_what_they_do(
    probe: tuple[str, Server, Probe],
) -> None:
    source, server, made = probe
    before = made.read()
    assert before["source"] == source
    # A child of the starter is the client, for as long as it lives.
    with subprocess.Popen(["python3", "-c", f"{_SPIN}\ninput()"], stdin=subprocess.PIPE) as client:
        with connect(server.port) as connection:
            exchange(connection, _BYTES, seed=8)
        used, then = _cpu_ns(client.pid), 0
        # Until it waits: what a task runs is charged when it stops.
        while used < _SPUN_NS or used > then:
            time.sleep(0.05)
            used, then = _cpu_ns(client.pid), used
        after = made.read()
        client.communicate(b"\n")
    spent = {name: after[name] - before[name] for name in _OWNERS}
    # The scheduler's time contains softirqs that came while the client spun; the probe's does not.
    assert spent["client_ns"] + spent["softirq_ns"] >= _SPUN_NS * 0.95, spent
    own = server.statistics()
    assert spent["server_ns"] > 0, spent
    assert spent["server_ns"] <= (own["cpu_user_s"] + own["cpu_system_s"]) * 1e9 + 2e7, spent
    # This process is the other end of the connection, and no child of itself; /proc forgets
    # processes that have ended.
    assert spent["other_ns"] > 0 or source == "proc", spent
    assert after["server_switches"] >= before["server_switches"]


def test_without_bpf_it_says_which_figures_are_less_exact(probe: tuple[str, Server, Probe]) -> None:
    source, _, made = probe
    said = made.log.read_text()
    assert ("softirq time is a sample" in said) == (source == "proc"), said
    assert (made.read()["overhead_ns"] > 0) == (source == "bpf")


def _cpu_ns(process: int) -> int:
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0])
