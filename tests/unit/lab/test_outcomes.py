from typing import Any

import pytest

from tare.lab.trial.outcomes import Measured
from tare.model.instrument import Result
from tare.model.outcome import Outcome


def result(**fields: Any) -> Result:
    head = {"event": "result", "schema": 1, "instrument": "x", "window_s": 1.0}
    return Result.model_validate(head | fields)


MEASURED = Measured(
    result=result(
        **{
            "outcomes": {
                "requests": 10,
                "requests_per_second": 10,
                "latency_mean_us": 9,
                "latency_p99_us": None,
            },
            "load": {
                "loop": "closed",
                "offered": 20,
                "in_flight_mean": 1,
                "cpu_busiest_thread": 0.5,
            },
            "errors": {"read": 1, "body": 2},
            "targets": [
                {
                    "name": "hot",
                    "outcomes": {"latency_p99_us": 7.0},
                    "offered": 5,
                    "completed": 4,
                    "unfinished": 1,
                    "answered": 3,
                }
            ],
        }
    ),
    roles={"proxy": {"cpu_us": 30.0}, "backend": {"cpu_us": 12.0}},
    counters={"connections": 4},
    probed={"answers": 8.0},
    declared={"proxy", "backend", "controller"},
    analysis={"capacity_per_second": 9.0, "slope": 0.5},
)


def outcome(value: str, per: str | None = None) -> Outcome:
    return Outcome(title="X", unit="1", better="lower", value=value, per=per)


@pytest.mark.parametrize(
    ("value", "per", "found"),
    [
        ("role.proxy.cpu_us", None, 30.0),
        # There were no rounds.
        ("role.proxy.ordinary_cpu_us", None, None),
        ("role.proxy.cpu_us", "instrument.requests", 3.0),
        ("role.proxy.cpu_us + role.backend.cpu_us", "instrument.requests", 4.2),
        ("role.proxy.cpu_us+role.controller.cpu_us", None, 30.0),
        ("role.controller.cpu_us", None, None),
        ("role.controller.cpu_us", "instrument.requests", None),
        ("instrument.latency_p99_us", None, None),
        ("instrument.ordinary_latency_p99_us", None, None),
        ("instrument.latency_p99_us + role.proxy.cpu_us", None, None),
        ("error.read", None, 1.0),
        ("error.all", "load.offered", 0.15),
        ("counter.connections", None, 4.0),
        ("probe.answers", "instrument.requests", 0.8),
        ("analysis.capacity_per_second", None, 9.0),
        ("analysis.slope", None, 0.5),
        ("target.hot.latency_p99_us", None, 7.0),
        ("target.hot.completed", "target.hot.offered", 0.8),
        ("target.hot.answered", None, 3.0),
        ("target.cold.completed", None, None),
    ],
)
def test_a_path_or_a_sum_of_them(value: str, per: str | None, found: float | None) -> None:
    assert MEASURED.outcome(outcome(value, per)) == found


@pytest.mark.parametrize(
    "path",
    [
        "role.sut.cpu_us",
        "role.proxy.joules",
        "instrument.x",
        "load.unfinished",
        "error.x",
        "counter.x",
        "target.hot.x",
    ],
)
def test_what_nobody_measures_is_an_error_and_not_nothing(path: str) -> None:
    with pytest.raises(LookupError, match=f"'X': no measured value is called '{path}'"):
        MEASURED.outcome(outcome(f"role.proxy.cpu_us + {path}"))


def test_a_share_may_be_of_a_hundred() -> None:
    share = Outcome(
        title="X", unit="%", better="lower", value="error.all", per="load.offered", times=100.0
    )
    assert MEASURED.outcome(share) == 15.0


def test_nothing_is_divided_by_nothing() -> None:
    empty: Any = Measured(result(outcomes={"requests": 0}), {}, {}, {}, (), {})
    assert empty.outcome(outcome("instrument.requests", "instrument.requests")) is None
