"""The headers of a duel's requests, and the variables of its servers."""

from tare.cli.own_servers import _headers, _pairs


def test_a_header_that_is_given_several_times_is_sent_with_all_its_values() -> None:
    assert _headers(("X-A: 1", "X-B: 2", "x-a: 3")) == {"X-A": ["1", "3"], "X-B": "2"}


def test_a_variable_of_the_environment_keeps_its_blanks() -> None:
    assert _pairs(("SEPARATOR= ", "A=b=c"), "=", "--env") == [("SEPARATOR", " "), ("A", "b=c")]
