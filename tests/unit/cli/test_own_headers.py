"""The headers of a duel's requests."""

from tare.cli.own_servers import _headers


def test_a_header_that_is_given_several_times_is_sent_with_all_its_values() -> None:
    assert _headers(("X-A: 1", "X-B: 2", "x-a: 3")) == {"X-A": ["1", "3"], "X-B": "2"}
