from typing import Any

import pytest

from tare.lab.machine.process import Place
from tare.lab.trial.gates.bottleneck import BOTTLENECK, Use, judged
from tare.lab.trial.gates.gate import Conditions
from tare.model.gates import Gates
from tare.model.instrument import Result

ONE, TWO, THREE = (frozenset([("here", number)]) for number in range(3))
ELSEWHERE = frozenset([("there", 0)])
LIMITS = Gates(bottleneck="proxy")


def found(steal: float = 0.0, **uses: Use) -> tuple[bool, str]:
    finding = judged("proxy", LIMITS, uses, 1 - steal)
    assert finding.wanted == "proxy, at least 90 % busy"
    return finding.ok, finding.found


def test_a_busy_role_on_a_cpu_of_its_own() -> None:
    ok, why = found(proxy=Use(ONE, 0.97), load=Use(TWO, 0.6))
    assert ok and why == "proxy, 97 % busy, 100 % of it by itself"


def test_a_generator_that_is_busier_is_the_bottleneck() -> None:
    ok, why = found(proxy=Use(ONE, 0.93), load=Use(TWO, 0.96))
    assert not ok and why == "load, 96 % busy where proxy was 93 %"


def test_a_loop_in_which_nobody_is_busy_waits() -> None:
    ok, why = found(proxy=Use(ONE, 0.7), load=Use(TWO, 0.5))
    assert not ok and why == "none: proxy was the busiest with 70 %, so the loop waited"


@pytest.mark.parametrize(
    ("proxy", "ok", "why"),
    [
        (0.6, True, "proxy, 96 % busy, 62 % of it by itself"),
        (0.3, False, "backend: proxy had only 31 % of the CPU time that they shared"),
    ],
)
def test_on_a_shared_cpu_the_larger_part_decides(proxy: float, ok: bool, why: str) -> None:
    roles = {"proxy": Use(ONE, proxy), "backend": Use(ONE, 0.96 - proxy), "load": Use(TWO, 0.8)}
    assert found(**roles) == (ok, why)


def test_two_cpus_are_busy_when_both_are() -> None:
    both = ONE | TWO
    assert not found(proxy=Use(both, 0.97), load=Use(THREE, 0.1))[0]
    assert found(proxy=Use(both, 1.94), load=Use(THREE, 0.1))[0]


def test_a_role_at_its_limit_is_the_bottleneck_of_an_idle_cpu() -> None:
    limited = Use(ONE, 0.49, limit=0.5)
    ok, why = found(proxy=limited, backend=Use(ONE, 0.2), load=Use(TWO, 0.3))
    assert ok and why == "proxy, which used 98 % of its CPU limit"
    assert not found(proxy=Use(ONE, 0.3, limit=0.5), load=Use(TWO, 0.5))[0]


def test_a_cpu_of_another_machine_is_another_cpu() -> None:
    ok, why = found(proxy=Use(ONE, 0.95), backend=Use(ELSEWHERE, 0.9), load=Use(TWO, 0.6))
    assert (ok, why) == (True, "proxy, 95 % busy, 100 % of it by itself")


def test_time_that_was_stolen_could_not_be_used() -> None:
    roles = {"proxy": Use(ONE, 0.85), "load": Use(TWO, 0.3)}
    assert not found(0.0, **roles)[0]
    assert found(0.08, **roles)[0]


@pytest.mark.parametrize(
    ("loop", "wanted", "steal", "applies"),
    [
        ("closed", "proxy", 0.0, True),
        ("closed", "proxy", 1.0, False),
        ("open", "proxy", 0.0, False),
        ("serial", "proxy", 0.0, False),
        ("closed", "none-such", 0.0, False),
        ("closed", None, 0.0, False),
    ],
)
def test_the_gate_is_for_closed_loops_of_variants_with_that_role_and_time_of_a_cpu(
    loop: str, wanted: str | None, steal: float, applies: bool
) -> None:
    load: dict[str, Any] = {
        "loop": loop, "completed": 1, "offered": 1, "in_flight_mean": 1, "cpu_busiest_thread": 0,
        "send_lag_p50_us": None, "send_lag_p99_us": None,
    }  # fmt: skip
    unnamed = dict.fromkeys(("latency_mean_us", "latency_p50_us", "latency_p99_us"))
    answer = {
        "event": "result", "schema": 1, "instrument": "x", "window_s": 1.0, "load": load,
        "outcomes": {"requests": 1, "requests_per_second": 1, **unnamed},
    }  # fmt: skip
    window = Conditions(
        Result.model_validate(answer),
        {"foreign_share": 0.0, "steal_share": steal},
        {"proxy": {"cpu_share": 1.0}},
        {"proxy": Place(None, [0])},
    )
    found = list(BOTTLENECK.look(Gates(bottleneck=wanted), window))
    assert len(found) == applies and all(each.ok for each in found)
