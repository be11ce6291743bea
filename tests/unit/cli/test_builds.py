"""What is said of builds: before them, and of those that are left."""

import pytest

from tare.cli import builds
from tare.cli.builds import Builds, before


class Left:
    """Builds that become fewer."""

    def __init__(self, *states: dict[str, int]) -> None:
        self._states = list(states)

    def builds(self) -> dict[str, int]:
        return self._states.pop(0)


def test_the_longest_are_named_first() -> None:
    assert before({"a": 10}) == "to build: a (10 s), about 10 s on 2 CPUs"
    many = {"e": 300, "d": 120, "c": 60, "b": 10, "a": 10}
    assert before(many) == (
        "to build: e (5 min), d (2 min), c (60 s) and 2 more, about 8 min on 2 CPUs"
    )


def test_what_is_left_is_said_when_a_build_has_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = Left({"b": 240, "a": 10}, {"b": 240, "a": 10}, {"a": 10}, {})
    monkeypatch.setattr(builds, "Outstanding", lambda _: left)
    progress = Builds([])
    for text in ("building b …", "built b", "built a", "ready"):
        progress.say(text)
    assert capsys.readouterr().err.splitlines() == [
        "tare: to build: b (4 min), a (10 s), about 4 min on 2 CPUs",
        "tare: building b …",
        "tare: built b",
        "tare: 1 build left, about 10 s on 2 CPUs",
        "tare: built a",
        "tare: ready",
    ]


def test_a_lone_build_says_itself_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(builds, "Outstanding", lambda _: Left({"a": 10}, {}))
    Builds([]).say("built a")
    assert capsys.readouterr().err == "tare: built a\n"
