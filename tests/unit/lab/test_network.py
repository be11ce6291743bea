"""Network namespaces: names and addresses that follow from the tag, and refusals in words."""

import os
import subprocess
import sys
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.lab.errors import Unavailable
from tare.lab.machine.network import Network

_ASK = "from tare.lab.machine.network import Network; Network('tare-not-permitted').create()"


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789.-", min_size=1, max_size=80))
def test_devices_and_addresses_are_such(tag: str) -> None:
    made, again = Network(tag), Network(tag)
    assert (made.near, made.far, made.address) == (again.near, again.far, again.address)
    assert made.near != made.far
    assert max(len(made.near), len(made.far)) <= 15  # IFNAMSIZ, less its end
    subnet = IPv4Network(f"{made.address}/30", strict=False)
    assert subnet.subnet_of(IPv4Network("198.18.0.0/15"))
    assert IPv4Address(made.address) in list(subnet.hosts())


def test_without_the_command_the_remedy_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match="iproute2"):
        Network("tare-no-command").create()


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to be denied it")
def test_without_the_right_it_is_unavailable_and_nothing_is_left() -> None:
    argv = ["setpriv", "--bounding-set", "-net_admin,-sys_admin", sys.executable, "-c", _ASK]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Unavailable: no network namespace can be made here" in done.stderr
    assert "run as root" in done.stderr
    assert not Network("tare-not-permitted").path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces are made by root")
def test_what_is_made_can_be_taken_away_twice() -> None:
    made = Network(f"tare-unit-{os.getpid()}")
    try:
        made.create()
        assert made.path.exists()
    finally:
        made.remove()
    assert not made.path.exists()
    made.remove()
