"""The turns of a duel suit the time that an answer takes."""

import pytest

from tare.lab.run.turn_length import suited
from tare.model.servers import Load
from tare.model.study import Slices


@pytest.mark.parametrize(("answer_ms", "saturated"), [(0.05, False), (2.0, False), (0.2, True)])
def test_quick_answers_leave_the_turns_short(answer_ms: float, saturated: bool) -> None:
    assert suited(Load(), answer_ms, saturated=saturated) == Load()


@pytest.mark.parametrize(
    ("answer_ms", "saturated", "length_ms", "gap_us", "duration_s"),
    [
        (5.0, False, 10.0, 250.0, 1.0),
        (1.0, True, 10.0, 250.0, 1.0),
        (5.0, True, 50.0, 1250.0, 1.0),
        (200.0, False, 400.0, 10_000.0, 6.0),
        (200.0, True, 2000.0, 50_000.0, 22.0),
    ],
)
def test_slow_answers_get_longer_turns_and_duels(
    answer_ms: float, saturated: bool, length_ms: float, gap_us: float, duration_s: float
) -> None:
    found = suited(Load(duration_s=1.0), answer_ms, saturated=saturated)
    assert found.slices == Slices(length_ms=length_ms, gap_us=gap_us)
    assert found.duration_s == duration_s


def test_a_duel_that_was_asked_to_be_long_stays_so() -> None:
    assert suited(Load(duration_s=60.0), 200.0, saturated=False).duration_s == 60.0
