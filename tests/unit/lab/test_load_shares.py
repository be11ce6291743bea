"""Several generators: their roles, their CPUs, and each one's part of the load."""

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.lab.errors import ManifestError
from tare.lab.machine.host import Cpus
from tare.lab.machine.hosts.host import Host
from tare.lab.trial.generators import Generators, share_of_load

SPEC = {"url": "http://a/", "connections": 7, "seed": 5, "loop": {"kind": "open", "rate": 1000.0}}


@dataclass
class Place:
    """As much of a host as generators see."""

    name: str = "here"
    machine: str = "m"
    client: list[int] = field(default_factory=lambda: [2, 3])

    @property
    def cpus(self) -> Cpus:
        return Cpus([0], self.client, [0], [1])


def generators(number: int, *places: Place) -> Generators:
    hosts = cast(list[Host], list(places or (Place(),)))
    return Generators.of({"generators": number}, hosts, "exp/study")


def test_one_generator_is_called_as_ever() -> None:
    found = Generators.of({}, cast(list[Host], [Place()]), "exp/study")
    assert (found.roles, found.title("load")) == (["load"], "load")
    assert found.client_cpus("load") == [2, 3]


def test_each_gets_cpus_of_its_own_where_there_are_enough() -> None:
    found = generators(2, Place(client=[4, 5, 6, 7]))
    assert found.roles == ["load-1", "load-2"]
    assert [found.client_cpus(role) for role in found.roles] == [[4, 5], [6, 7]]
    found = generators(3, Place(client=[4, 5]))
    assert [found.client_cpus(role) for role in found.roles] == [[4], [5], [4]]


def test_generators_are_dealt_to_the_hosts_of_the_load() -> None:
    east, west = Place("east", "e"), Place("west", "w")
    found = generators(2, east, west)
    titles = [found.title(role) for role in found.roles]
    assert titles == ["load-1@east", "load-2@west", "load-3@east", "load-4@west"]
    assert found.client_cpus("load-1") == [2]
    assert found.client_cpus("load-3") == [3]
    assert [generators(1, east, west).client_cpus(role) for role in ("load-1", "load-2")] == [
        [2, 3],
        [2, 3],
    ], "other machines have CPUs of their own"
    west.machine = "e"
    assert generators(1, east, west).client_cpus("load-2") == [3], (
        "namespaces of one machine do not"
    )


@pytest.mark.parametrize("number", [0, -1, 1.5, "two"])
def test_a_number_that_is_none_is_refused(number: Any) -> None:
    with pytest.raises(ManifestError, match="exp/study: parameter generators: found"):
        generators(number)


@given(
    st.integers(1, 9),
    st.integers(9, 10_000),
    st.floats(1e-3, 1e7),
    st.sampled_from([("open", "rate"), ("closed", "limit")]),
)
def test_the_parts_add_up_to_the_whole(
    count: int, connections: int, rate: float, loop: tuple[str, str]
) -> None:
    kind, name = loop
    spec = {**SPEC, "connections": connections, "loop": {"kind": kind, name: rate}}
    parts = [share_of_load(spec, number, count) for number in range(count)]
    own = [part["connections"] for part in parts]
    assert sum(own) == connections
    assert own == sorted(own, reverse=True) and own[0] - own[-1] <= 1
    assert reduce(add, (part["loop"][name] for part in parts)) == rate
    assert all(part["loop"][name] > 0 for part in parts)
    assert len({part["seed"] for part in parts}) == count
    same = [share_of_load(spec, number, count) for number in range(count)]
    assert same == parts, "seeds are deterministic"
    for part in parts:
        assert {key: item for key, item in part.items() if spec[key] == item} == {
            key: item for key, item in spec.items() if part[key] == item
        }


def test_a_closed_loop_without_limit_stays_one() -> None:
    spec = {**SPEC, "loop": {"kind": "closed", "limit": None}}
    assert share_of_load(spec, 1, 2)["loop"] == {"kind": "closed", "limit": None}
    assert "loop" not in share_of_load({"connections": 2}, 1, 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"connections": 1}, "connections: found 1, expected a number of at least 2"),
        ({"connections": None}, "connections: found None"),
        ({"targets": [{"url": "http://b/"}]}, "targets: found"),
        ({"replay": {"file": "a.log"}}, "replay: found"),
        ({"profile": {"kind": "ramp", "to": 1, "s": 1}}, "profile: found"),
        ({"requests": 100}, "requests: found 100"),
        ({"ramp_per_s": 10.0}, "ramp_per_s: found"),
        ({"times_file": "t"}, "times_file: found"),
        ({"slices": {"length_ms": 2}}, "slices: found"),
        ({"loop": {"kind": "serial"}}, "loop.kind: found 'serial'"),
        ({"loop": {"kind": "open", "rate": 1, "arrivals": "even"}}, "loop.arrivals: found 'even'"),
        ({"keys": {"count": 9, "order": "turns"}}, "order: found 'turns'"),
        ({"mix_order": "turns"}, "order: found 'turns'"),
    ],
)
def test_a_load_that_cannot_be_divided_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        share_of_load({**SPEC, **changes}, 0, 2)
