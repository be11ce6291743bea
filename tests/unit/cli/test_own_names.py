"""The names of a user's own servers, where some or none are given."""

import click
import pytest

from tare.cli.own_servers import _names


@pytest.mark.parametrize(
    ("given", "count", "usual", "expected"),
    [
        ((), 2, ("old", "new"), ["old", "new"]),
        (("ours",), 2, ("old", "new"), ["ours", "new"]),
        ((), 4, ("old", "new"), ["old", "new", "server-3", "server-4"]),
        ((), 1, (), ["server"]),
        ((), 2, (), ["server-1", "server-2"]),
    ],
)
def test_every_server_has_a_name(
    given: tuple[str, ...], count: int, usual: tuple[str, ...], expected: list[str]
) -> None:
    assert _names(given, count, usual) == expected


def test_more_names_than_servers_are_refused() -> None:
    with pytest.raises(click.UsageError, match="--name: found 3 names, expected 2 or fewer"):
        _names(("a", "b", "c"), 2, ())


@pytest.mark.parametrize("name", ["", "a b", "a@b", "é", "A", "-x", ".."])
def test_a_name_that_no_folder_or_label_may_have_is_refused_in_words(name: str) -> None:
    with pytest.raises(click.UsageError, match=r"^--name: found .* expected lower-case letters"):
        _names((name,), 2, ("old", "new"))


@pytest.mark.parametrize("given", [("a", "a"), ("new",)])
def test_two_servers_of_one_name_are_refused_in_words(given: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError) as caught:
        _names(given, 2, ("old", "new"))
    name = given[0]
    assert caught.value.message == f"--name: found {name}, {name}, expected names that differ"


@pytest.mark.parametrize("given", [("control",), ("a", "a-base"), ("a", "a-a2"), ("control-base",)])
def test_the_name_of_another_s_trial_is_refused(given: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError, match=f"found '{given[-1]}', which tare itself calls"):
        _names(given, 2, ("old", "new"))
    assert _names(("data-base", "new-a2"), 2, ("old", "third")) == ["data-base", "new-a2"]
