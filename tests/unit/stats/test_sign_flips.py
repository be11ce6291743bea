"""Intervals for many differences at once."""

import numpy as np
import pytest

from tare.stats.sign_flips import FEWEST, shifts

COLUMNS = 40


def counts(rng: np.random.Generator, pairs: int, more: float = 0.0) -> np.ndarray:
    """Differences as samples of functions have them; the first function's grow by `more`."""
    common = rng.normal(0, 3, size=(pairs, 1))
    one, other = (rng.poisson(20, size=(pairs, COLUMNS)) for _ in range(2))
    found = one - other + common
    found[:, 0] += more
    return found


@pytest.mark.parametrize("pairs", [FEWEST, 12, 30])
def test_equals_seem_different_in_at_most_one_family_of_twenty(pairs: int) -> None:
    rng = np.random.default_rng(1)
    wrong = sum(any(each.clear for each in shifts(counts(rng, pairs))) for _ in range(100))
    assert wrong <= 10, "of 100 families of 40; the binomial's 99th percentile at 5 % is 11"


def test_a_shift_is_found_in_its_column_alone() -> None:
    rng = np.random.default_rng(2)
    found = shifts(counts(rng, 30, more=15.0))
    assert [at for at, each in enumerate(found) if each.clear] == [0]
    assert found[0].low < 15.0 < found[0].high


def test_what_differs_in_every_pair_by_the_same_is_exact() -> None:
    (only,) = shifts(np.full((8, 1), 2.0))
    assert (only.low, only.mean, only.high) == (2.0, 2.0, 2.0)
    assert only.clear


def test_what_never_differs_is_not_clear() -> None:
    assert not shifts(np.zeros((8, 1)))[0].clear


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 6 or more"):
        shifts(np.zeros((FEWEST - 1, 3)))
    assert shifts(np.zeros((FEWEST, 0))) == []
