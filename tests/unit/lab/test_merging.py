"""One result of several generators: what adds up, what merges, and what cannot be told."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from tare.lab.trial.merging import merged
from tare.model.instrument import Result
from tare.stats.histogram import merge
from tare.stats.quantile import quantile_rank

SECOND_NS = 1_000_000_000


def encode(values: Iterable[int]) -> str:
    histogram = HdrHistogram(1, 60 * SECOND_NS, 3)
    for value in values:
        assert histogram.record_value(value)
    return str(histogram.encode(), "ascii")


def answer(latencies_ns: list[int], **changes: Any) -> Result:
    """One generator's answer that has measured these latencies, and sent each 1 µs late."""
    lags = [1000] * len(latencies_ns)
    count = len(latencies_ns)
    mean_us = sum(latencies_ns) / count / 1e3 if count else None
    figures = {"mean": mean_us, "max": max(latencies_ns, default=0) / 1e3, "p50": 1.0, "p99": 1.0}
    answered: dict[str, Any] = {
        "event": "result",
        "schema": 1,
        "instrument": "x 1",
        "protocol": "h1",
        "window_s": 2.0,
        "outcomes": {
            "requests": count,
            "requests_per_second": count / 2,
            "bytes_per_second": 10.0 * count,
            **{f"latency_{name}_us": value for name, value in figures.items()},
        },
        "load": {
            "loop": "open", "arrivals": "poisson", "rate": 100.0, "connections": 2, "threads": 1,
            "offered": count + 1, "completed": count, "unfinished": 1, "in_flight_mean": 0.5,
            "send_lag_p50_us": 1.0, "send_lag_p99_us": 1.0, "send_lag_max_us": 1.0,
            "cpu_user_s": 0.25, "cpu_system_s": 0.5, "cpu_busiest_thread": 0.5,
        },
        "errors": {"read": 1, "status": 0},
        "statuses": {"200": count},
        "total": {"requests": count + 5, "lost_kept": 1},
        "tls": None,
        "certificates": None,
        "histograms": {"latency": encode(latencies_ns), "send_lag": encode(lags)},
    }  # fmt: skip
    for key, value in changes.items():
        home = answered["load"] if key in answered["load"] else answered
        home[key] = value
    return Result.model_validate(answered)


def together(*results: Result) -> Result:
    named = {f"load-{number}": each for number, each in enumerate(results, start=1)}
    return merged(named, start_spread_s=0.001, overlap_s=1.999)


samples = st.lists(st.integers(1, 10 * SECOND_NS), min_size=300, max_size=330)


@given(st.lists(samples, min_size=2, max_size=3))
def test_a_merged_p99_is_that_of_the_pooled_samples_within_a_bucket(
    parts: list[list[int]],
) -> None:
    found = together(*map(answer, parts))
    pooled = sorted(chain(*parts))
    for name, q in (("p50", 0.5), ("p99", 0.99)):
        exact_us = pooled[quantile_rank(len(pooled), q) - 1] / 1e3
        merged_us = found.outcomes[f"latency_{name}_us"]
        assert merged_us is not None
        assert exact_us <= merged_us <= exact_us * 1.001 + 0.001
    assert found.outcomes["latency_mean_us"] == pytest.approx(sum(pooled) / len(pooled) / 1e3)
    assert found.outcomes["latency_max_us"] == pooled[-1] / 1e3
    assert merge([found.histograms["latency"]]).total == len(pooled)


def test_a_merged_p99_is_no_average() -> None:
    fast, slow = [1_000_000] * 1000, [100_000_000] * 50
    found = together(answer(fast), answer(slow))
    assert found.outcomes["latency_p99_us"] == pytest.approx(100_000, rel=1e-3)
    assert found.outcomes["latency_p50_us"] == pytest.approx(1000, rel=1e-3)


def test_counts_rates_and_loads_add_up() -> None:
    one, two = answer([5] * 600), answer([7] * 300, cpu_busiest_thread=0.9, send_lag_max_us=8.0)
    found = together(one, two)
    assert found.load is not None
    assert (found.requests, found.outcomes["requests_per_second"]) == (900, 450)
    assert found.outcomes["bytes_per_second"] == 9000
    assert (found.load.offered, found.load.completed, found.load.unfinished) == (902, 900, 2)
    assert (found.load.rate, found.load.connections, found.load.threads) == (200, 4, 2)
    assert (found.load.loop, found.load.arrivals, found.load.in_flight_mean) == (
        "open",
        "poisson",
        1,
    )
    assert (found.load.cpu_user_s, found.load.cpu_system_s) == (0.5, 1)
    assert (found.load.cpu_busiest_thread, found.load.send_lag_max_us) == (0.9, 8)
    assert found.load.send_lag_p99_us == pytest.approx(1, rel=1e-3)
    assert (found.errors, found.statuses) == ({"read": 2, "status": 0}, {"200": 900})
    assert (found.total.requests, found.total.counts) == (910, {"lost_kept": 2})
    assert found.generators is not None
    assert found.generators.each == {"load-1": one, "load-2": two}
    assert found.generators.start_spread_s == 0.001


def test_what_is_stored_names_each_generator_and_has_no_histograms() -> None:
    stored = together(answer([5] * 9), answer([7] * 9)).stored()
    assert "HIST" not in str(stored)
    assert stored["generators"]["each"]["load-2"]["outcomes"]["requests"] == 9
    assert Result.model_validate(stored).requests == 18


def test_a_figure_that_cannot_be_made_of_the_parts_is_none() -> None:
    one = answer([5] * 9)
    known = {**one.outcomes, "hit_ratio": 0.5, "ttfb_p99_us": 3.0}
    found = together(answer([5] * 9, outcomes=known), answer([5] * 9, outcomes=known))
    assert found.outcomes["hit_ratio"] is None
    assert found.outcomes["ttfb_p99_us"] is None, "there is no histogram of it"
    assert found.outcomes["latency_p99_us"] is None, "18 requests name no p99"
    assert together(one, answer([])).outcomes["latency_mean_us"] == pytest.approx(0.005)
    lacking = answer([5], outcomes={**one.outcomes, "bytes_per_second": None})
    assert together(one, lacking).outcomes["bytes_per_second"] is None


def test_fields_of_the_instruments_own_are_kept_where_all_agree() -> None:
    one = answer([5], certificates="loopback", stopped_early=False, replay={"sent": 1})
    two = answer([5], certificates="loopback", stopped_early=True)
    extra = together(one, two).model_extra
    assert extra == {"certificates": "loopback"}


def test_handshakes_add_up_and_those_unlike_the_first_are_others() -> None:
    def tls(version: str, other: int) -> dict[str, Any]:
        return {"version": version, "cipher": "X", "full": 5, "resumed": 2, "other": other}

    found = together(*(answer([5], tls=each) for each in (tls("1.3", 1), tls("1.3", 0))))
    assert found.tls is not None
    assert (found.tls.version, found.tls.full, found.tls.resumed, found.tls.other) == (
        "1.3",
        10,
        4,
        1,
    )
    found = together(*(answer([5], tls=each) for each in (tls("1.3", 1), tls("1.2", 0))))
    assert found.tls is not None and found.tls.other == 1 + 7


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instrument": "y"}, "instrument: found 'x 1', 'y'"),
        ({"protocol": "h2"}, "protocol: found 'h1', 'h2'"),
        ({"loop": "closed"}, "load.loop: found 'open', 'closed'"),
        ({"histograms": {"latency": "no", "send_lag": "no"}}, "is no HdrHistogram"),
    ],
)
def test_results_that_are_not_of_one_load_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        together(answer([5]), answer([5], **changes))
