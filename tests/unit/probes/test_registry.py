"""The probes together: each reads what it says it does, of every role."""

import os
import time
from dataclasses import dataclass, field

import pytest

from tare.probes import registry
from tare.probes.cpu import CpuTime, of_processes
from tare.probes.probe import Scene
from tare.probes.reading import Counter, Gauge, over
from tare.probes.throttling import Throttling


@dataclass(frozen=True)
class Caps:
    cpus: float | None = None
    memory_bytes: int | None = None
    read_bytes_per_s: int | None = None


@dataclass(frozen=True)
class Place:
    cpus: list[int] = field(default_factory=lambda: sorted(os.sched_getaffinity(0)))
    caps: Caps = Caps()


@dataclass
class Role:
    place: Place = field(default_factory=Place)
    limited: Throttling = field(default_factory=Throttling)

    def pids(self) -> list[int]:
        return [os.getpid()]

    def cpu_time(self) -> CpuTime:
        return of_processes(self.pids())

    def throttling(self) -> Throttling:
        return self.limited


def scene(role: Role) -> Scene:
    return Scene(time.monotonic(), {"sut": role}, role.place.cpus)


def test_each_name_is_read_by_one_probe() -> None:
    assert len(set(registry.NAMES)) == len(registry.NAMES)
    limited = Role(Place(caps=Caps(0.5, 1 << 20, 1 << 10)))
    for probe in registry.PROBES:
        assert tuple(probe.read(scene(limited)).roles["sut"]) == probe.names


def test_gauges_are_read_at_the_end_and_counters_at_both_ends() -> None:
    role = Role(Place(caps=Caps(cpus=0.5)))
    first, held = registry.read(scene(role)), registry.read_last(scene(role))
    assert {type(each) for each in first.roles["sut"].values()} == {Counter}
    assert {type(each) for each in held.roles["sut"].values()} == {Gauge}
    assert held.roles["sut"]["limit_cpus"] == Gauge(0.5)
    assert "limit_memory_bytes" not in held.roles["sut"]
    both = first | held
    assert both.machine == first.machine and len(both.roles["sut"]) > len(first.roles["sut"])


def test_a_busy_role_takes_most_of_a_cpu_and_is_not_foreign() -> None:
    role = Role(limited=Throttling(1.0, 10, 2, 3, 0))
    first, begun = registry.read(scene(role)), time.process_time()
    while time.process_time() - begun < 0.1:
        pass
    role.limited = Throttling(1.0, 14, 4, 5, 0)
    last = registry.read(scene(role))
    found = over(first.roles["sut"], last.roles["sut"], 1.0)
    assert found["cpu_us"] >= 80_000 and 0 < found["cpu_share"] < 1.5
    assert found["throttled_share"] == 0 and found["throttled_periods_share"] == 0.5
    assert found["memory_limit_hits"] == pytest.approx(2)
    # The machine's time comes in ticks of 10 ms, the window's own does not.
    assert 0 <= over(first.machine, last.machine, 1.0)["foreign_share"] <= 1.2
