"""Servers that run already are found by their ports."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare.lab.errors import RoleError
from tare.lab.machine import listening, running
from tare.lab.machine.running import RunningProcess
from tare.model.role import Running

_FORKS = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
for _ in range(2):
    if os.fork() == 0:
        if _: listener.close()  # a helper that holds no socket
        time.sleep(600)
print(listener.getsockname()[1], flush=True)
time.sleep(600)
"""


@pytest.fixture
def server() -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A server with two children, of which one has its socket, too; and its port."""
    argv = [sys.executable, "-c", _FORKS]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout is not None
    yield child, int(child.stdout.readline())
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()


def running_at(port: int) -> Running:
    process = running.identity("127.0.0.1", port, "tcp")
    return Running(host="127.0.0.1", port=port, process=process)


def test_the_ports_of_processes_are_those_that_they_listen_on(
    server: tuple["subprocess.Popen[str]", int],
) -> None:
    child, port = server
    assert listening.ports_of([child.pid, 1 << 22]) == [(port, "127.0.0.1")]
    with socket.create_connection(("127.0.0.1", port)):
        assert listening.ports_of([os.getpid()]) == []


@pytest.mark.parametrize("address", ["127.0.0.2", "::1"])
def test_a_port_is_told_with_its_address(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listening.addresses(address)
    except RoleError as error:
        pytest.skip(str(error))
    with socket.create_server((address, 0), family=family) as listener:
        assert (listener.getsockname()[1], address) in listening.ports_of([os.getpid()])


@pytest.mark.parametrize(("bound", "asked"), [("127.0.0.1", "localhost"), ("", "127.0.0.1")])
def test_a_listening_socket_leads_to_its_process(bound: str, asked: str) -> None:
    with socket.create_server((bound, 0)) as listener:
        port = listener.getsockname()[1]
        assert listening.holders(asked, port) == [os.getpid()]
        with pytest.raises(RoleError, match=f"no process listens on port {port}"):
            listening.holders(
                "127.0.0.9" if bound else "127.0.0.1", port, "tcp" if bound else "udp"
            )


def test_an_ipv6_socket_is_found_by_the_ipv4_address_that_it_takes_too() -> None:
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        assert listening.holders("127.0.0.1", listener.getsockname()[1]) == [os.getpid()]


def test_datagram_sockets_are_found_as_udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        assert listening.holders("127.0.0.1", listener.getsockname()[1], "udp") == [os.getpid()]


def test_what_is_not_of_this_machine_is_refused() -> None:
    with pytest.raises(RoleError, match=r"192\.0\.2\.1 is no address of this machine"):
        listening.addresses("192.0.2.1")


def test_a_process_that_may_not_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    look = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path.name == "fd":
            raise PermissionError(path)
        return look(path)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(Path, "iterdir", refuse)
        with pytest.raises(RoleError, match="may not be read; run tare as its user, or as root"):
            listening.holders("127.0.0.1", listener.getsockname()[1])


def test_children_belong_to_the_server_and_nothing_is_stopped(
    server: tuple["subprocess.Popen[str]", int], tmp_path: Path
) -> None:
    child, port = server
    found = RunningProcess("sut", running_at(port), tmp_path / "log")
    assert found.pid == child.pid and len(found.pids()) == 3
    assert found.cpu_time().total_s > 0
    assert found.stop(signal.SIGTERM, 1.0) and child.poll() is None
    found.ensure_alive()
    child.kill()
    child.wait()
    with pytest.raises(RoleError, match=f"the running process {child.pid} has ended"):
        found.ensure_alive()


def test_another_process_on_the_port_is_not_measured_instead(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        other = running_at(port).model_copy(update={"process": "1 since 2"})
        with pytest.raises(RoleError, match="expected 1 since 2: the server was started anew"):
            RunningProcess("sut", other, tmp_path / "log")


def test_a_socket_that_does_not_listen_takes_no_connection() -> None:
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as folder:
        path = f"{folder}/sock"
        assert not listening.accepts(path)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            assert not listening.accepts(path)
            server.listen()
            assert listening.accepts(path)
        assert not listening.accepts(path)


def test_a_path_that_no_socket_can_have_is_refused() -> None:
    listening.refuse_long("/" + "x" * 106)
    with pytest.raises(RoleError, match="its 108 bytes are too many"):
        listening.refuse_long("/" + "x" * 107)


@pytest.mark.parametrize("host", ["a" * 64, "no-such-host.invalid"])
def test_a_name_that_is_no_host_is_told(host: str) -> None:
    with pytest.raises(RoleError, match=f"^{host}: no such host: "):
        listening.addresses(host)
