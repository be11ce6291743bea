"""Files of hosts as they are read, and the plans that no hosts can carry out."""

from pathlib import Path
from typing import Any

import pytest

from tare.lab.errors import ManifestError, UnknownName
from tare.lab.paths import ROOT
from tare.lab.project import catalog
from tare.lab.project.catalog import Loaded
from tare.lab.run import planning
from tare.lab.run.hosts import file, spread
from tare.model.hosts import HostsFile
from tare.model.trial import Plan

EXAMPLE = ROOT / "examples" / "three-namespaces.toml"


def planned(target: str, **changes: Any) -> tuple[Plan, Loaded]:
    loaded = catalog.load(*target.split("/"))
    plan = planning.make(
        loaded, quick=False, variants=None, scenarios=[], blocks=1, seed=1, overrides={}, **changes
    )
    return plan, loaded


def example() -> HostsFile:
    return file.read(EXAMPLE)


def test_the_example_places_the_roles_of_proxies() -> None:
    assert file.names_hosts(EXAMPLE)
    assert spread.placed(example(), *planned("proxies/requests")) == {
        "load": "load",
        "backend": "backend",
        "proxy": "server",
    }


@pytest.mark.parametrize(
    "target",
    [
        "proxies/requests",
        "filters/requests",
        "calibration/cpu",
        "cache/hot",
        "cache/stall",
        "cache/queue",
    ],
)
def test_what_talks_over_the_network_alone_can_be_spread(target: str) -> None:
    spread.refuse(example(), *planned(target))


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("proxies/faults", "acts on proxy and backend from one host"),
        ("sandbox/calls", "a socket of the same machine"),
        ("echo/rate", "its CPU probe counts"),
        ("loadgen/client", "it compares load generators"),
    ],
)
def test_what_needs_one_machine_is_refused_with_its_reason(target: str, why: str) -> None:
    with pytest.raises(UnknownName, match=rf"{target} cannot be spread over hosts: .*{why}"):
        spread.refuse(example(), *planned(target))


def test_a_role_that_no_experiment_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(role: str) -> HostsFile:
        host = example().hosts["load"].model_copy(update={"roles": ["load", role]})
        return example().model_copy(update={"hosts": {**example().hosts, "load": host}})

    with pytest.raises(
        UnknownName, match="--hosts: host load: no experiment has a role 'bakend'; "
    ):
        spread.refuse(of("bakend"), *planned("proxies/requests"))
    spread.refuse(of("controller"), *planned("proxies/requests"))  # of another experiment
    assert list(spread.unknown_roles(of("bakend"))) == [
        ("load", "no experiment has a role 'bakend'; did you mean 'backend'?")
    ]
    assert not list(spread.unknown_roles(of("sut")))
    assert list(spread.unknown_roles(of("xyz"))) == [
        ("load", "no experiment has a role 'xyz'; remove it")
    ]
    monkeypatch.setattr(spread.index, "role_names", set)
    other = of("xyz").hosts | {"backend": example().hosts["server"]}
    assert not list(spread.unknown_roles(of("xyz").model_copy(update={"hosts": other})))


def test_a_look_at_processes_of_other_hosts_is_refused() -> None:
    for option in ("why", "tail"):
        with pytest.raises(
            UnknownName, match=f"--{option} looks at processes of this machine only"
        ):
            spread.refuse(example(), *planned("proxies/requests", **{option: True}))


def test_several_hosts_of_the_load_make_trials_and_no_duels() -> None:
    other = example().hosts["load"].model_copy(update={"address": "10.77.0.14"})
    several = example().model_copy(update={"hosts": {**example().hosts, "more": other}})
    with pytest.raises(UnknownName, match="a duel has one generator, and the hosts load, more "):
        spread.refuse(several, *planned("proxies/requests"))
    spread.refuse(several, *planned("proxies/requests", pairing="trials"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("default = ", "Invalid value"),
        ("[hosts.a]\naddress = '10.0.0.1'", "default: missing; expected a value"),
        ("default = 'a'\n[hosts.a]\n", "hosts.a.address: missing"),
        ("default = 'a'\n[hosts.a]\naddress = '10.0.0.1'\nspu = [0]", "hosts.a.spu: unknown field"),
        ("default = 'a'\n[hosts.a]\naddress = 'here'", "hosts.a.address: found 'here'"),
        ("default = 'b'\n[hosts.a]\naddress = '10.0.0.1'", "default: found 'b', expected one of"),
    ],
)
def test_a_fault_is_told_with_its_file_and_field(tmp_path: Path, text: str, said: str) -> None:
    own = tmp_path / "hosts.toml"
    own.write_text(text)
    with pytest.raises(ManifestError) as raised:
        file.read(own)
    assert str(own) in str(raised.value)
    assert said in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"hosts\.toml: No such file"):
        file.read(tmp_path / "hosts.toml")
