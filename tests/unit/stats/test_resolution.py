"""The smallest difference that a time of measuring finds."""

import numpy as np
import pytest

from tare.stats.effect import effect_of
from tare.stats.resolution import detectable


def test_more_time_and_less_spread_find_less() -> None:
    minute, five = detectable(0.01, 2.5, 60), detectable(0.01, 2.5, 300)
    assert minute is not None and five is not None
    assert five == pytest.approx(minute / 5**0.5, rel=0.05)
    assert detectable(0.02, 2.5, 60) == pytest.approx(2 * minute)


def test_a_time_that_gives_no_verdict_finds_nothing() -> None:
    assert detectable(0.01, 10, 59) is None
    assert detectable(0.01, 10, 60) is not None


def test_what_it_promises_is_found_in_four_of_five_studies() -> None:
    random = np.random.default_rng(3)
    effect = detectable(0.01, 1.0, 24)
    assert effect is not None
    studies = [effect_of(random.normal(effect, 0.01, 24)) for _ in range(400)]
    found = sum(each.p < 0.05 for each in studies) / len(studies)
    assert found == pytest.approx(0.8, abs=0.06)
