from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tare.lab.errors import ManifestError
from tare.lab.trial.analysis.capacity import Capacity
from tare.lab.trial.analysis.protocol import About, Found
from tare.lab.trial.measure import Measurement
from tare.model import analysis
from tare.model.gates import KINDS
from tare.model.instrument import Result
from tare.model.trial import RANGE, Gate

SETTINGS = analysis.Capacity(
    kind="capacity", limit="{{ limit_us }}", low=100, high="{{ 100 * 100 }}", steps=6
)
ABOUT = About("exp", seed=7, parameters={"limit_us": 5000}, retries=2)


class Machine:
    """Keeps the limit up to a rate; what is closed by its rate and its number is the test's."""

    def __init__(
        self,
        capacity: float,
        closed: Callable[[float, int], list[str]] = lambda rate, number: [],
        nameless: Callable[[float, int], bool] = lambda rate, number: False,
    ) -> None:
        self.capacity, self.closed, self.nameless = capacity, closed, nameless
        self.asked: list[float] = []

    def window(self, own: Mapping[str, Any]) -> Measurement:
        (rate,) = own.values()
        assert list(own) == ["rate"]
        self.asked.append(rate)
        latency = 1000.0 if rate <= self.capacity else 50_000.0
        named = None if self.nameless(rate, len(self.asked)) else latency
        answer = {"event": "result", "schema": 1, "instrument": "x", "window_s": 0.5}
        outcomes = {"outcomes": {"latency_p99_us": named, "rate": rate}}
        result = Result.model_validate(answer | outcomes)
        return Measurement(own, result, None, None, {}, {})  # type: ignore[arg-type]

    def judge(self, found: Measurement) -> list[Gate]:
        names = self.closed(found.own["rate"], len(self.asked))
        return [
            Gate(name=name, kind=KINDS[name], ok=False, found="bad", wanted="good")
            for name in names
        ]

    def search(self, settings: analysis.Capacity = SETTINGS) -> Found:
        return Capacity(settings).run(self.window, self.judge, lambda made, name: None, ABOUT)


def rate_of(found: Found) -> Any:
    return found.values["capacity_per_second"]


def note_of(found: Found) -> Any:
    return found.notes["capacity"]


def test_a_search_ends_close_to_the_truth_with_the_last_window_that_held() -> None:
    machine = Machine(3000)
    found = machine.search()
    assert rate_of(found) == pytest.approx(3000, rel=0.08) and found.gates == []
    assert found.measurement.own["rate"] == max(rate for rate in machine.asked if rate <= 3000)
    assert found.measured_s == 0.5 * len(machine.asked)
    assert [window.own["rate"] for window in found.windows] == machine.asked
    assert [note["rate"] for note in note_of(found)["windows"]] == machine.asked
    assert note_of(found)["limit"] == 5000 and note_of(found)["rate"] == rate_of(found)


def test_a_rate_fails_when_two_windows_do() -> None:
    machine = Machine(3000)
    machine.search()
    for rate in machine.asked:
        assert machine.asked.count(rate) in ((1,) if rate <= 3000 else (2, 4)), "4: asked again"
    stall = Machine(3000, lambda rate, number: ["achieved"] if number == 1 else [])
    assert rate_of(stall.search()) == pytest.approx(3000, rel=0.08), "one stall at the first rate"


@pytest.mark.parametrize("gate", ["errors", "achieved", "requests"])
def test_failed_requests_are_a_rate_too_high(gate: str) -> None:
    machine = Machine(1e9, lambda rate, number: [gate] if rate > 2000 else [])
    assert rate_of(machine.search()) == pytest.approx(2000, rel=0.08)


@pytest.mark.parametrize("gate", ["foreign-cpu", "send-lag", "little"])
def test_a_disturbed_window_is_repeated_and_not_believed(gate: str) -> None:
    machine = Machine(3000, lambda rate, number: [gate] if number % 2 else [])
    found = machine.search()
    assert rate_of(found) == pytest.approx(3000, rel=0.08) and found.gates == []
    notes = note_of(found)["windows"]
    assert any(note["spoilt"] == [gate] for note in notes)


def test_what_is_always_disturbed_closes_the_trial() -> None:
    found = Machine(3000, lambda rate, number: ["foreign-cpu"]).search()
    (gate,) = found.gates
    assert rate_of(found) is None and not gate.ok and gate.name == "capacity"
    assert gate.found.endswith("/s foreign-cpu: bad, wanted good")


def test_a_latency_that_cannot_be_named_is_no_latency_that_is_too_high() -> None:
    """At a low rate a window may have fewer requests than its p99 takes."""
    some = Machine(120, nameless=lambda rate, number: rate < 150 and number % 3 > 0)
    assert rate_of(some.search()) == pytest.approx(120, rel=0.08)
    never = Machine(120, nameless=lambda rate, number: rate < 150).search()
    (gate,) = never.gates
    assert rate_of(never) is None
    assert gate.found.endswith("/s too few requests to name latency_p99_us")


def test_an_overload_that_leaves_too_few_answers_is_a_rate_too_high() -> None:
    machine = Machine(
        3000, lambda rate, _: ["achieved"] * (rate > 3000), lambda rate, _: rate > 3000
    )
    assert rate_of(machine.search()) == pytest.approx(3000, rel=0.08)


def test_littles_law_is_not_asked_of_a_growing_queue() -> None:
    machine = Machine(3000, lambda rate, number: ["little"] if rate > 3000 else [])
    assert rate_of(machine.search()) == pytest.approx(3000, rel=0.08)


@pytest.mark.parametrize(("capacity", "found"), [(10, "not even"), (1e6, "even 9")])
def test_a_capacity_beyond_the_range_closes_the_trial(capacity: float, found: str) -> None:
    (gate,) = Machine(capacity).search().gates
    assert gate.name == RANGE and gate.found.startswith(found)
    assert gate.wanted == "a rate between 100 and 10000 per second that holds"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": 0}, "found a range from 0 to 10000, expected 0 < low < high"),
        ({"low": "{{ nothing }}"}, "analysis.low"),
        ({"limit": "much"}, "analysis.limit: found 'much', expected a number"),
    ],
)
def test_settings_that_are_none_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        Machine(3000).search(SETTINGS.model_copy(update=changes))
