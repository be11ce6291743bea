"""Callers, of stacks whose functions are known."""

from tare.report.callers import callers


def test_they_are_those_of_nearly_all_samples_the_nearest_first() -> None:
    found = [
        (["main", "serve", "log", "write"], 85.0),
        (["main", "serve", "answer", "write"], 15.0),
        (["main", "serve", "answer"], 50.0),
    ]
    assert callers(found, ["write", "answer", "absent"]) == {
        "write": ["log", "serve"],
        "answer": ["serve", "main"],
        "absent": [],
    }


def test_what_is_called_from_many_places_has_only_their_common_callers() -> None:
    """Two functions of the same size need not call one another."""
    found = [
        (["main", "to_client", "write"], 50.0),
        (["main", "to_backend", "write"], 50.0),
        (["main", "handler"], 100.0),
    ]
    assert callers(found, ["write", "handler"]) == {"write": ["main"], "handler": ["main"]}


def test_a_function_that_calls_itself_is_not_its_own_caller() -> None:
    found = [(["main", "walk", "walk", "walk"], 10.0)]
    assert callers(found, ["walk"]) == {"walk": ["main"]}


def test_a_caller_that_stands_there_twice_counts_once() -> None:
    found = [(["a", "b", "a", "leaf"], 7.0), (["c", "leaf"], 3.0)]
    assert callers(found, ["leaf"]) == {"leaf": []}
