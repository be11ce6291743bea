"""The share of the variance that is within duels, where it is known."""

import numpy as np
import pytest

from tare.stats.within import Duels, within


def made(between: float, error: float, seed: int, duels: int = 40) -> Duels:
    """Duels whose log ratios vary by so much from start to start, and by `error` within."""
    draw = np.random.default_rng(seed)
    ratios = 0.1 + between * draw.standard_normal(duels) + error * draw.standard_normal(duels)
    return Duels(ratios, np.full(duels, error))


@pytest.mark.parametrize(("between", "share"), [(0.0, 1.0), (0.01, 0.5), (0.03, 0.1)])
def test_the_interval_holds_the_share_in_19_of_20(between: float, share: float) -> None:
    covered = 0
    for seed in range(400):
        found = within([made(between, 0.01, seed)])
        assert found is not None
        covered += found.interval.low <= share <= found.interval.high
    # 380 are expected; where nothing varies between duels the upper end is cut off at 1.
    assert 360 <= covered <= 396


def test_groups_are_each_about_their_own_mean() -> None:
    one, other = made(0.0, 0.01, 1), made(0.0, 0.01, 2)
    apart = Duels(other.log_ratios + 5.0, other.standard_errors)
    found, same = within([one, apart]), within([one, other])
    assert found is not None and same is not None
    assert found.interval.low == pytest.approx(same.interval.low)


def test_too_few_duels_and_no_variance_have_none() -> None:
    assert within([]) is None
    assert within([made(0.01, 0.01, 1, duels=10)]) is None
    assert within([Duels(np.zeros(30), np.full(30, 0.01))]) is None
