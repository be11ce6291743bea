"""Resource use of roles: over the probes' window, and of the rounds of a duel that count."""

import pytest

from tare.lab.trial import outcomes, usage
from tare.lab.trial.measure import Measurement, Snapshot
from tare.model.instrument import Result
from tare.probes.probe import Seen
from tare.probes.reading import Counter, Gauge


def measured(*roles: str, **rounds: object) -> Measurement:
    """A window of 2 s of which the probes saw 4 s, with 1,000 requests."""

    roles = roles or ("sut",)

    def seen(at: float, cpu_us: float) -> Snapshot:
        own = {
            "cpu_us": Counter(cpu_us),
            "cpu_user_us": Counter(cpu_us / 4),
            "cpu_system_us": Counter(cpu_us * 3 / 4),
            "cpu_share": Counter(cpu_us / 1e6, of=at),
            "switches": Counter(cpu_us / 10),
            "memory_bytes": Gauge(5.0),
        }
        return Snapshot(at, Seen(dict.fromkeys(roles, own), {}), {})

    answer = {
        "event": "result",
        "schema": 1,
        "instrument": "a",
        "window_s": 2.0,
        "outcomes": {"requests": 1000.0},
        "rounds": rounds or None,
    }
    result = Result.model_validate(answer)
    return Measurement({}, result, seen(1.0, 0.0), seen(5.0, 40_000.0), Seen({}, {}), {})


def test_counters_are_scaled_to_the_instruments_window() -> None:
    found = usage.roles(measured())["sut"]
    assert found == {
        "cpu_us": 20_000.0,
        "cpu_user_us": 5_000.0,
        "cpu_system_us": 15_000.0,
        "cpu_share": pytest.approx(0.01),
        "switches": 2_000.0,
        "memory_bytes": 5.0,
    }


def test_cpu_time_is_that_of_the_rounds_that_count() -> None:
    found = usage.roles(measured(requests=400, cpu_us={"sut": 4_000.0, "other": 1.0}))["sut"]
    # 10 µs a request, for all 1,000 of them; what is not CPU time stays.
    assert found["cpu_us"] == pytest.approx(10_000.0)
    assert found["cpu_user_us"] == pytest.approx(2_500.0)
    assert found["cpu_system_us"] == pytest.approx(7_500.0)
    assert found["switches"] == 2_000.0
    assert found["cpu_share"] == pytest.approx(0.01)


def test_without_rounds_that_count_the_window_is_all_there_is() -> None:
    found = usage.roles(measured(requests=0, cpu_us={"sut": 0.0}))["sut"]
    assert found["cpu_us"] == 20_000.0


def test_ordinary_rounds_have_a_cpu_time_of_their_own() -> None:
    part = {"requests": 200, "cpu_us": {"sut": 1_000.0, "other": 1.0}}
    found = usage.roles(measured(requests=400, cpu_us={"sut": 4_000.0}, ordinary=part))["sut"]
    # 10 µs a request in all rounds, 5 µs in ordinary ones, for all 1,000 of them.
    assert found["cpu_us"] == pytest.approx(10_000.0)
    assert found["ordinary_cpu_us"] == pytest.approx(5_000.0)
    part = {"requests": 0, "cpu_us": {}}
    assert "ordinary_cpu_us" not in usage.roles(measured(requests=4, ordinary=part))["sut"]


def test_what_several_generators_use_is_the_instruments() -> None:
    found = outcomes.of_window(measured("sut", "load-1", "load-2"), ["sut"]).roles
    assert {role: read["cpu_us"] for role, read in found.items()} == {
        "sut": 20_000.0,
        "load-1": 20_000.0,
        "load-2": 20_000.0,
        "load": 40_000.0,
    }
    assert list(outcomes.of_window(measured("sut", "load"), ["sut"]).roles) == ["sut", "load"]
