import socket
import subprocess
import sys

import pytest

from tare.lab.errors import MachineFault
from tare.lab.machine import ports
from tare.lab.machine.ports import hold, taken

HOST = "127.0.0.1"
HOLDER = """
import sys
from tare.lab.machine import ports
ports._RANGE = range(int(sys.argv[1]), int(sys.argv[1]) + 2)
held = ports.hold("127.0.0.1", ["a"])
print(held.numbers["a"], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def two_ports(monkeypatch: pytest.MonkeyPatch) -> range:
    """A range of two free ports, beyond those that other tests' laboratories choose from."""
    first = ports._RANGE.stop
    while taken(HOST, first) or taken(HOST, first + 1):
        first += 2
    found = range(first, first + 2)
    monkeypatch.setattr(ports, "_RANGE", found)
    return found


def test_ports_of_one_site_differ() -> None:
    with hold(HOST, ["http", "status", "https"]) as held:
        assert list(held.numbers) == ["http", "status", "https"]
        assert len(set(held.numbers.values())) == 3


def test_a_held_port_is_given_to_nobody_else_until_it_is_released(two_ports: range) -> None:
    with hold(HOST, ["a"]) as first, hold(HOST, ["b"]) as second:
        assert {first.numbers["a"], second.numbers["b"]} == set(two_ports)
        with pytest.raises(MachineFault, match="no free port"):
            hold(HOST, ["c"])
    with hold(HOST, ["a", "b"]) as both:
        assert set(both.numbers.values()) == set(two_ports)


def test_a_port_that_another_laboratory_holds_is_not_given_away(two_ports: range) -> None:
    argv = [sys.executable, "-c", HOLDER, str(two_ports.start)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as another:
        assert another.stdout is not None
        theirs = int(another.stdout.readline())
        with hold(HOST, ["a"]) as ours:
            assert {ours.numbers["a"], theirs} == set(two_ports)
        another.communicate()


def test_the_kernel_gives_none_of_them_to_a_client(
    two_ports: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "_RANGE", range(10_000, two_ports.stop))
    monkeypatch.setattr(ports, "_outgoing", lambda: range(10_000, two_ports.start))
    with hold(HOST, ["a", "b"]) as held:
        assert set(held.numbers.values()) == set(two_ports)


def test_a_taken_port_is_seen() -> None:
    with hold(HOST, ["a"]) as held:
        number = held.numbers["a"]
        assert not taken(HOST, number)
        with socket.create_server((HOST, number)):
            assert taken(HOST, number)
