"""The 95 % interval holds the truth in 93 to 97 % of studies, whatever the noise looks like."""

from collections.abc import Callable

import numpy as np
import pytest

from tare.stats.effect import paired_effect
from tare.stats.floats import Floats

STUDIES = 2000
TRUTH = np.log(1.03)


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return 100 * (1 + 0.02 * rng.standard_normal(shape))


def lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return 100 * np.exp(0.3 * rng.standard_normal(shape))


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return 100 * np.exp(0.01 * rng.standard_t(3, shape))


def drifting(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    # A block drifts as a whole by 5 %, ten times what the trials within it differ by.
    studies, _, blocks = shape
    walk = np.cumsum(0.05 * rng.standard_normal((studies, 1, blocks)), axis=2)
    return 100 * np.exp(walk + 0.005 * rng.standard_normal(shape))


@pytest.mark.parametrize("noise", [normal, lognormal, heavy, drifting])
@pytest.mark.parametrize("n", [8, 10, 20])
def test_coverage(
    noise: Callable[[np.random.Generator, tuple[int, ...]], Floats],
    n: int,
) -> None:
    values = noise(np.random.default_rng([n, len(noise.__name__)]), (STUDIES, 2, n))
    covered = 0
    for variant, baseline in values:
        interval = paired_effect((np.exp(TRUTH) * variant).tolist(), baseline.tolist()).interval
        assert interval is not None
        covered += not interval.excludes(TRUTH)
    share = covered / STUDIES
    print(f"coverage {noise.__name__} n={n}: {share:.1%} of {STUDIES} studies")
    assert 0.93 <= share <= 0.97
