from typing import Any

import pytest
from pydantic import ValidationError

from tare.lab.errors import ManifestError
from tare.lab.gates import judge, limits
from tare.model.manifest import Experiment, Gates
from tare.model.trial import Gate

QUIET = {"foreign_share": 0.0, "steal_share": 0.0}
LIMITS = Gates(achieved_min=0.9, errors_max=0.1, little_max=0.25, send_lag_max=2.0)


def result(**changes: Any) -> dict[str, Any]:
    """100 requests in a second, 10 ms each, one in flight, all as offered."""
    outcomes = {
        "requests": 100,
        "requests_per_second": 100.0,
        "latency_mean_us": 10_000.0,
        "latency_p50_us": 9_000.0,
        "latency_p99_us": 40_000.0,
    }
    load = {
        "loop": "open",
        "offered": 100,
        "completed": 100,
        "in_flight_mean": 1.0,
        "send_lag_p50_us": 1.0,
        "send_lag_p99_us": 10.0,
        "cpu_busiest_thread": 0.5,
    }
    found: dict[str, Any] = {"outcomes": outcomes, "load": load, "errors": {"read": 0}}
    for key, value in changes.items():
        home = next((table for table in (outcomes, load) if key in table), found)
        home[key] = value
    return found


def gates(found: dict[str, Any], machine: dict[str, float] = QUIET) -> dict[str, Gate]:
    return {gate.name: gate for gate in judge(LIMITS, found, machine)}


def test_a_good_trial_passes_every_gate() -> None:
    found = gates(result())
    assert all(gate.ok for gate in found.values())
    assert list(found) == [
        "errors", "requests", "achieved", "send-lag-p50", "send-lag-p99", "little", "foreign-cpu",
        "steal",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("gate", "key", "below", "at", "above"),
    [
        ("send-lag-p50", "send_lag_p50_us", 17_999.0, 18_000.0, 18_001.0),
        ("send-lag-p99", "send_lag_p99_us", 79_999.0, 80_000.0, 80_001.0),
        ("little", "in_flight_mean", 1.2, 1.25, 1.5),
    ],
)
def test_a_gate_closes_above_its_limit(
    gate: str, key: str, below: float, at: float, above: float
) -> None:
    assert gates(result(**{key: below}))[gate].ok
    if gate != "little":  # the residual is a quotient: no float hits its limit
        assert gates(result(**{key: at}))[gate].ok
    assert not gates(result(**{key: above}))[gate].ok


@pytest.mark.parametrize(("completed", "ok"), [(89, False), (90, True), (100, True)])
def test_the_offered_load_must_be_achieved(completed: int, ok: bool) -> None:
    gate = gates(result(completed=completed))["achieved"]
    assert gate.ok is ok
    assert (
        gate.found == f"{completed:.2f}% of the offered load" and gate.wanted == "at least 90.00%"
    )


def test_nothing_offered_is_nothing_achieved() -> None:
    assert not gates(result(offered=0, completed=0))["achieved"].ok


@pytest.mark.parametrize(
    ("requests", "failed", "ok"), [(90, 10, True), (91, 9, True), (89, 11, False), (0, 1, False)]
)
def test_errors_are_a_share_of_all_answers(requests: int, failed: int, ok: bool) -> None:
    found = gates(result(requests=requests, errors={"read": failed, "status": 0}))
    assert found["errors"].ok is ok
    assert found["errors"].found == f"read {failed}"


def test_a_load_without_an_answer_does_not_count() -> None:
    found = gates(
        result(requests=0, latency_mean_us=None, latency_p50_us=None, latency_p99_us=None)
    )
    assert found["errors"].ok
    assert not found["requests"].ok and found["requests"].found == "0 answered"
    assert "little" not in found and "send-lag-p50" not in found


def test_a_closed_loop_has_no_schedule_to_miss() -> None:
    found = gates(result(loop="closed", completed=1, send_lag_p50_us=None, send_lag_p99_us=None))
    assert set(found) == {"errors", "requests", "generator", "little", "foreign-cpu", "steal"}
    assert all(gate.ok for gate in found.values())


@pytest.mark.parametrize(("busy", "ok"), [(0.969, True), (0.97, True), (0.971, False)])
def test_a_closed_loop_must_leave_the_generator_room(busy: float, ok: bool) -> None:
    assert gates(result(loop="closed", cpu_busiest_thread=busy))["generator"].ok is ok


@pytest.mark.parametrize(("failed", "ok"), [(0, True), (1, False)])
def test_an_instrument_without_load_is_judged_by_errors_and_machine(failed: int, ok: bool) -> None:
    found = gates({"outcomes": {"calls": 5}, "errors": {"call": failed}})
    assert list(found) == ["errors", "foreign-cpu", "steal"]
    assert found["errors"].ok is ok


@pytest.mark.parametrize(
    ("gate", "share", "limit"),
    [("foreign-cpu", "foreign_share", 0.05), ("steal", "steal_share", 0.1)],
)
def test_the_machine_must_be_quiet(gate: str, share: str, limit: float) -> None:
    assert gates(result(), QUIET | {share: limit})[gate].ok
    assert gates(result(), QUIET | {share: limit - 0.001})[gate].ok
    assert not gates(result(), QUIET | {share: limit + 0.001})[gate].ok


def experiment(**gates: Any) -> Experiment:
    return Experiment.model_validate(
        {
            "schema": 1,
            "title": "T",
            "question": "Q?",
            "baseline": "a",
            "parameters": {},
            "outcomes": {},
            "gates": gates,
        }
    )


def test_a_gate_may_differ_by_scenario() -> None:
    own = experiment(errors_max="{{ lost }}", steal_max=0.2)
    assert limits(own, {"lost": 0.5}) == Gates(errors_max=0.5, steal_max=0.2)
    with pytest.raises(ManifestError, match="errors_max: found 'many', expected a number"):
        limits(own, {"lost": "many"})


def test_a_gate_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValidationError, match="gates of these names: achieved_min"):
        experiment(errors="{{ lost }}")
    with pytest.raises(ValidationError):
        experiment(retries=0.5)
