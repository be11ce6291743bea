"""hosts.toml: what it may say, and what is said of what it may not."""

from typing import Any

import pytest
from pydantic import ValidationError

from tare.model.hosts import HostsFile

HOSTS: dict[str, Any] = {
    "load": {"address": "10.0.0.1", "ssh": "me@load", "roles": ["load"]},
    "server": {"address": "10.0.0.2", "namespace": "server"},
}
OTHER: dict[str, Any] = {"more": {"address": "10.0.0.3", "roles": ["load", "sut"]}}


def made(**changes: Any) -> HostsFile:
    return HostsFile.model_validate(
        {"schema": 1, "default": "server", "hosts": HOSTS, **changes},
    )


def test_a_role_goes_to_the_host_that_names_it_and_else_to_the_default() -> None:
    found = made()
    assert (found.of("load"), found.of("sut"), found.of("origin")) == ("load", "server", "server")
    assert found.hosts["load"].control == "ssh me@load"
    assert found.hosts["server"].control == "namespace server"


def test_several_hosts_may_take_the_load() -> None:
    assert made().loads == ["load"]
    assert made(hosts=HOSTS | OTHER).loads == ["load", "more"]
    assert made(hosts={"server": HOSTS["server"]}).loads == ["server"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"default": "other"}, "default: found 'other', expected one of: load, server"),
        (
            {"hosts": {"server": HOSTS["server"] | {"roles": ["sut"]}} | OTHER},
            "the role 'sut' is named by more than one host",
        ),
        ({"hosts": HOSTS | {"more": {"address": "10.0.0.1"}}}, "the address 10.0.0.1"),
        ({"hosts": {"server": {"address": "10.0.0.1", "ssh": "a", "namespace": "b"}}}, "ssh or"),
        ({"hosts": {"server": {"address": "10.0.0.1", "ssh": "-oProxyCommand=x"}}}, "pattern"),
        ({"hosts": {"server": {"address": "server"}}}, "IPv4"),
        (
            {"hosts": {"server": HOSTS["server"] | {"roles": ["sut", "sut"]}}},
            "hosts.server.roles: found one twice",
        ),
        ({"hosts": {"server": HOSTS["server"] | {"cpus": [1, 1]}}}, "hosts.server.cpus: found one"),
        ({"hosts": {"server": {"address": "0.0.0.0"}}}, "expected one of the host's own"),
        (
            {
                "network": {"address": "10.0.0.9/24"},
                "hosts": {
                    "server": HOSTS["server"],
                    "load": {"address": "10.0.0.1", "namespace": "server"},
                },
            },
            "the namespace 'server' is named by more than one host",
        ),
        (
            {"network": {"address": "10.0.0.0/24"}, "hosts": {"server": HOSTS["server"]}},
            "network.address: found that of the network itself, expected one within 10.0.0.0/24",
        ),
        (
            {
                "network": {"address": "10.0.0.9/24"},
                "hosts": {"server": HOSTS["server"] | {"address": "10.0.0.255"}},
            },
            "hosts.server.address: found that of the network itself",
        ),
        ({"network": {"address": "10.0.0.9/24"}}, "hosts.load: expected a namespace"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said.replace(".", r"\.")):
        made(**changes)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("10.1.0.1/24", "within 10.1.0.0/24"),
        ("10.0.0.2/24", "another than the bridge's own"),
    ],
)
def test_a_made_network_holds_all_addresses(own: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        made(network={"address": own}, hosts={"server": HOSTS["server"]})
