"""What instruments may answer: every one that there is, and nothing that gates cannot judge."""

from typing import Any

import pytest
from pydantic import ValidationError

from tare.model.instrument import Result, Total, together

ERRORS = {"body": 0, "connect": 0, "read": 2}
FIGURES = {
    "requests": 10,
    "requests_per_second": 5.0,
    "latency_mean_us": 210.5,
    "latency_p50_us": 200.1,
    "latency_p99_us": None,
}
TARGET = {
    "name": "hot", "url": "http://127.0.0.1/", "connections": 2, "offered": 5, "completed": 4,
    "unfinished": 1, "answered": 3, "outcomes": FIGURES, "errors": ERRORS, "statuses": {"200": 4},
}  # fmt: skip
LOADER = {
    "protocol": "h1",
    "outcomes": FIGURES,
    "load": {
        "loop": "open", "arrivals": "poisson", "rate": 20000.0, "connections": 64, "threads": 1,
        "offered": 14, "completed": 10, "unfinished": 4, "in_flight_mean": 6.5,
        "send_lag_p50_us": 3.0, "send_lag_p99_us": None, "send_lag_max_us": 900.0,
        "cpu_user_s": 0.4, "cpu_system_s": 2.8, "cpu_busiest_thread": 0.8,
    },
    "errors": ERRORS,
    "statuses": {"200": 10},
    "total": {
        "requests": 15, "statuses": {"200": 15}, "errors": ERRORS,
        "reasons": [{"kind": "read", "why": "the head is cut short", "count": 2}],
    },
    "targets": [TARGET],
    "tls": {"version": "1.3", "cipher": "X", "group": "X25519", "alpn": None,
            "full": 64, "resumed": 0, "other": 0},
    "slices": {"length_ms": 2.0, "lead_in_ms": 0.0, "rounds": 5, "kept": 4, "share": 0.9},
    "conditions": [{"condition": "p99<5ms", "ok": False, "found": None}],
    "histograms": {"latency": "HISTFAAA"},
}  # fmt: skip
SMALLER: dict[str, dict[str, Any]] = {
    "a peer": {
        "protocol": "h2",
        "outcomes": {"requests": 1.5, "requests_per_second": 3.0},
        "errors": ERRORS,
        "total": {"requests": 2, "errors": ERRORS},
    },
    "a task queue": {
        "outcomes": {"tasks": 3, "trip_p99_us_1": None},
        "errors": {"refused": 0, "wrong": 0},
        "total": {"completed": 9},
        "depths": {"1": {"tasks": 3, "p50_ns": 700}},
    },
    "a filter": {
        "outcomes": {"instructions_accept_16": 40, "ns_min_reject_16": None},
        "errors": {"answer": 0, "counter": 0, "unequal": 0},
        "total": {"accepted": 5, "rejected": 6},
    },
    "a sandbox that is idle": {
        "outcomes": {"requests": 0, "requests_per_second": None},
        "errors": {},
        "total": {"requests": 0},
    },
    "a closed loop": {
        "outcomes": {"requests": 1, "requests_per_second": 2.0, "latency_mean_us": 3},
        "load": {"loop": "closed", "in_flight_mean": 2, "cpu_busiest_thread": 0.5},
    },
}


def answer(**fields: Any) -> dict[str, Any]:
    head = {"event": "result", "schema": 1, "instrument": "x 1", "window_s": 2}
    return head | {"outcomes": {}} | fields


@pytest.mark.parametrize("fields", SMALLER.values(), ids=SMALLER)
def test_what_is_stored_is_what_was_answered(fields: dict[str, Any]) -> None:
    assert Result.model_validate(answer(**fields)).stored() == answer(**fields)


def test_a_load_generator_is_stored_but_for_its_histograms() -> None:
    found = Result.model_validate(answer(**LOADER))
    assert found.stored() == answer(**{k: v for k, v in LOADER.items() if k != "histograms"})
    assert found.histograms == {"latency": "HISTFAAA"}
    assert (found.requests, found.failed) == (10, 2)
    assert found.target("cold") is None and found.target("hot") is not None
    assert found.load is not None and found.load.figures()["send_lag_p99_us"] is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"window_s": "2"}, "window_s"),
        ({"window_s": -1}, "window_s"),
        ({"window_s": float("nan")}, "window_s"),
        ({"schema": 2}, "schema"),
        ({"outcomes": {"requests": True}}, "outcomes.requests"),
        ({"errors": {"read": -1}}, "errors.read"),
        ({"total": {"completed": 1.5}}, "total.completed"),
        ({"total": {"reasons": ["why"]}}, "total.reasons.0"),
        ({"targets": [{**TARGET, "answered": None}]}, "targets.0.answered"),
        ({"load": {**LOADER["load"], "ofered": 1}}, "load.ofered"),
        ({"load": {**LOADER["load"], "loop": "round"}}, "load.loop"),
        ({"tls": {"full": 1}}, "tls.resumed"),
    ],
)
def test_what_is_malformed_is_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Result.model_validate(answer(**LOADER) | changes)
    assert ".".join(str(part) for part in caught.value.errors()[0]["loc"]) == field


@pytest.mark.parametrize(
    ("loop", "lacks"),
    [
        ("open", "offered, completed, send_lag_p50_us, send_lag_p99_us"),
        ("closed", "cpu_busiest_thread"),
        ("serial", "cpu_busiest_thread"),
    ],
)
def test_a_load_says_what_its_gates_look_at(loop: str, lacks: str) -> None:
    with pytest.raises(ValidationError, match=f"also {lacks} of a loop that is {loop}"):
        Result.model_validate(answer(load={"loop": loop, "in_flight_mean": 1.0}))
    few = dict.fromkeys(("requests", "latency_mean_us"), 1.0)
    with pytest.raises(ValidationError, match="also the outcomes requests_per_second"):
        Result.model_validate(answer(**{**LOADER, "outcomes": few}))


def test_totals_add_up_by_their_names() -> None:
    made = [
        {"requests": 1, "statuses": {"200": 1}, "reasons": [{"kind": "a", "why": "b", "count": 1}]},
        {"requests": 2, "statuses": {"200": 1, "404": 1}, "errors": {"status": 1}},
        {"accepted": 7},
        {"accepted": 1},
    ]
    found = together(Total.model_validate(each) for each in made)
    assert found.stored() == {
        "requests": 3,
        "statuses": {"200": 2, "404": 1},
        "errors": {"status": 1},
        "reasons": [{"kind": "a", "why": "b", "count": 1}],
        "accepted": 8,
    }
    assert found.failed == 1 and found.counts == {"accepted": 8}
    assert together([]) == Total()


def test_a_side_of_a_duel_reads_as_if_it_were_alone() -> None:
    own = TARGET | {"total": {"requests": 7}, "histograms": {"latency": "HISTFBBB"}}
    head = {"event": "result", "schema": 1, "instrument": "x", "window_s": 1.0}
    whole = Result.model_validate(head | LOADER | {"targets": [own]})
    side = whole.side("hot")
    assert (side.outcomes, side.total.requests, side.targets) == (FIGURES, 7, [])
    assert side.histograms == {"latency": "HISTFBBB"} and side.slices == whole.slices
    assert "HIST" not in str(whole.stored()), "what is stored beside trials has no histograms"
    with pytest.raises(KeyError):
        whole.side("cold")
