"""Counters, gauges, and what readings of them at both ends of a window come to."""

import pytest

from tare.probes.reading import Counter, Gauge, over


def test_what_grows_is_a_difference_and_scaled_and_a_median_is_neither() -> None:
    first = {"calls": Counter(10.0), "median_us": Gauge(900.0)}
    last = {"calls": Counter(30.0), "median_us": Gauge(100.0)}
    assert over(first, last, 0.5) == {"calls": 10.0, "median_us": 100.0}


def test_a_share_is_of_what_another_counter_grew_by() -> None:
    found = over({"share": Counter(2, of=10)}, {"share": Counter(5, of=16)}, 0.1)
    assert found == {"share": 0.5}
    assert over({"share": Counter(2, of=10)}, {"share": Counter(2, of=10)}, 1) == {"share": 0}


def test_a_counter_without_a_first_reading_began_at_nothing() -> None:
    assert over({}, {"calls": Counter(3), "share": Counter(3, of=6)}, 2) == {
        "calls": 6,
        "share": 0.5,
    }
    assert over({"calls": Gauge(7)}, {"calls": Counter(3)}, 1) == {"calls": 3}


@pytest.mark.parametrize(("last", "found"), [(9.0, 0.0), (14.0, 0.5)])
def test_a_difference_has_a_least(last: float, found: float) -> None:
    first = {"foreign": Counter(10.0, of=0.0, least=0.0)}
    assert over(first, {"foreign": Counter(last, of=8.0, least=0.0)}, 1) == {"foreign": found}
