"""A bridge with namespaces: what is made is taken away, and nothing of anybody else."""

import os
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

import pytest

from tare.lab.errors import Unavailable
from tare.lab.machine.lan import Lan
from tare.lab.machine.ledger import Ledger
from tare.lab.machine.network import NAMES, ip
from tare.lab.run.hosts.opening import network
from tare.model.hosts import HostsFile

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces are made by root")
NAME = f"tare-lan-{os.getpid()}"


def test_a_namespace_of_somebody_else_stays(tmp_path: Path) -> None:
    file = HostsFile.model_validate(
        {
            "default": "a",
            "network": {"address": "10.77.9.1/24"},
            "hosts": {"a": {"address": "10.77.9.2", "namespace": NAME}},
        }
    )
    ip("netns", "add", NAME)
    try:
        ledger = Ledger(tmp_path / "ledger.jsonl", "tare-lan-test", None)
        with pytest.raises(Unavailable, match=f"there is a network namespace {NAME} already"):
            network(file, "tare-lan-test", ledger)
        ledger.close()
        assert (NAMES / NAME).exists()
        lan = Lan("tare-lan-test", [NAME])
        lan.remove()
        assert (NAMES / NAME).exists()
    finally:
        ip("netns", "delete", NAME)


def test_what_is_made_is_taken_away_twice() -> None:
    lan = Lan("tare-lan-test", [NAME, f"{NAME}b"])
    addresses = {NAME: IPv4Address("10.77.9.2"), f"{NAME}b": IPv4Address("10.77.9.3")}
    try:
        lan.create(IPv4Interface("10.77.9.1/24"), addresses)
        assert all((NAMES / name).exists() for name in lan.namespaces)
    finally:
        lan.remove()
    assert not any((NAMES / name).exists() for name in lan.namespaces)
    assert not (Path("/sys/class/net") / lan._device("b")).exists()
    lan.remove()
