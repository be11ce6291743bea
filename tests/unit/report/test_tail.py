"""The sentences and the table about the slowest requests."""

from typing import Any, get_args

import pytest

from tare.model.tail import Cause, Tail
from tare.report.tail import grid, sentences, words


def tail(*parts: tuple[str, str, float, float], **changes: Any) -> Tail:
    own = [
        {"cause": cause, "who": who, "slow_ns": slow, "ordinary_ns": ordinary}
        for cause, who, slow, ordinary in parts
    ]
    fields = {
        "requests": 50, "of": 50_120, "from_ns": 2_000_000, "parts": own, "lost": 0,
        "slow_ns": sum(part[2] for part in parts), "ordinary_ns": sum(part[3] for part in parts),
    }  # fmt: skip
    return Tail.model_validate(fields | changes)


FOUND = tail(
    ("run_queue", "rustc", 8e6, 0.0),
    ("other_request", "", 1.5e6, 5e3),
    ("own", "", 1e5, 6e4),
    ("returning", "", 1e4, 1e4),
)


def test_the_leading_causes_are_named_with_their_shares() -> None:
    first, second = sentences(FOUND, {"latency_p50_us": 74.0})
    assert first == (
        "The slowest requests exceed ordinary ones by 9.5 ms: for 84 % of it rustc had the "
        "server's CPU and for 16 % of it the server worked on other requests."
    )
    assert second == (
        "The slowest 50 of 50120 requests took 9.6 ms on average (2 ms or more), ordinary ones "
        "75 µs; the median is 74 µs."
    )


def test_shares_never_exceed_the_whole() -> None:
    parts = (("run_queue", "rustc", 1e7, 0.0), ("own", "", 3e6, 1e6), ("asleep", "", 0.0, 4e6))
    first, *_ = sentences(tail(*parts), {})
    assert first == (
        "The slowest requests exceed ordinary ones by 8 ms: for 83 % of it rustc had the server's "
        "CPU and for 17 % of it the server worked on the request."
    )


def test_of_many_small_causes_none_is_named() -> None:
    first, *_ = sentences(tail(*(("run_queue", f"task-{n}", 1e5, 0.0) for n in range(30))), {})
    assert first == "The slowest requests exceed ordinary ones by 3 ms; no cause stands out."


def test_without_requests_nothing_is_claimed() -> None:
    (only,) = sentences(tail(requests=0, slow_ns=0.0, ordinary_ns=0.0), {})
    assert only.startswith("Too few requests to tell slow ones from others")


def test_slow_ones_that_are_not_slower_have_no_cause() -> None:
    (only,) = sentences(tail(("own", "", 5e3, 5e3)), {})
    assert only == "The slowest requests took no longer than ordinary ones."


def test_lost_events_are_told() -> None:
    *_, last = sentences(FOUND.model_copy(update={"lost": 7}), {})
    assert last.startswith("7 events found no room, so parts may be wrong")
    alike = tail(("own", "", 5e3, 5e3), lost=7)
    assert sentences(alike, {})[1:] == [last]
    few = tail(requests=0, slow_ns=0.0, ordinary_ns=0.0, lost=7)
    assert sentences(few, {}) == ["Too few requests to tell slow ones from others.", last]


def test_requests_that_outlive_the_window_are_told_where_they_could_be_the_slowest() -> None:
    few = FOUND.model_copy(update={"later": FOUND.requests - 1})
    assert sentences(few, {}) == sentences(FOUND, {})
    many = FOUND.model_copy(update={"later": 900})
    *_, last = sentences(many, {})
    assert last.startswith("900 requests got an answer only after the observed time; they are not ")


def test_requests_that_failed_are_told() -> None:
    *_, last = sentences(FOUND, {}, {"timeout": 3, "status": 0})
    assert last.startswith("3 requests failed (timeout 3); those without an answer are not among ")
    assert sentences(FOUND, {}, {"timeout": 0}) == sentences(FOUND, {})


def test_answers_whose_times_were_dropped_are_told() -> None:
    *_, last = sentences(FOUND, {}, dropped=12)
    assert last.startswith("The times of 12 answers found no room, so these are not among the slow")
    assert sentences(FOUND, {}, dropped=0) == sentences(FOUND, {})


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_has_what_takes_time(width: int) -> None:
    lines = [str(line) for line in grid(FOUND).lines(width)]
    assert any("rustc had the server's CPU" in line for line in lines)
    assert max(map(len, lines)) <= width


def test_a_futex_is_not_said_to_be_a_lock_alone() -> None:
    """Condition variables and threads of a pool without work wait in the same system call."""
    assert words("lock", "") == "the server waited for a lock or another thread"


def test_an_event_is_not_said_to_be_input_alone() -> None:
    """A pool of threads tells its event loop in the same way that it has read a file."""
    assert words("asleep", "") == "the server waited for input or its own threads"


def test_every_cause_has_words() -> None:
    for cause in get_args(Cause):
        said = words(cause, "futex")
        assert said and "{" not in said
