"""Two modes are named, and one is not taken for two, whatever its tails."""

from collections.abc import Callable

import numpy as np
import pytest

from tare.stats.effect import effect_of
from tare.stats.floor import NoiseFloor
from tare.stats.modes import Modes, two_modes
from tare.stats.verdict import Comparison, Direction, judge_family

Draw = Callable[[np.random.Generator, int], "np.ndarray[tuple[int], np.dtype[np.float64]]"]
ONE_MODE: dict[str, Draw] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "uniform": lambda rng, n: rng.random(n),
    "Laplace": lambda rng, n: rng.laplace(size=n),
    "t with 3 degrees": lambda rng, n: rng.standard_t(3, size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "log-normal": lambda rng, n: np.exp(0.8 * rng.standard_normal(n)),
}
STUDIES = 1000


@pytest.mark.parametrize("n", [12, 20, 50])
@pytest.mark.parametrize("kind", ONE_MODE)
def test_one_mode_is_seldom_taken_for_two(kind: str, n: int) -> None:
    rng = np.random.default_rng(7)
    found = sum(two_modes(ONE_MODE[kind](rng, n)) is not None for _ in range(STUDIES))
    assert found <= 0.06 * STUDIES, "5 %, and what 1000 studies may be off"


@pytest.mark.parametrize(("n", "least"), [(12, 0.45), (20, 0.7), (30, 0.75)])
def test_fifteen_percent_of_slow_trials_are_mostly_named(n: int, least: float) -> None:
    rng = np.random.default_rng(7)
    noise = 0.008 * rng.standard_normal((STUDIES, 2, n))
    slow = np.log(1.1) * (rng.random((STUDIES, n)) < 0.15)
    found = sum(two_modes(each) is not None for each in noise[:, 0] - noise[:, 1] + slow)
    assert found >= least * STUDIES


@pytest.mark.parametrize("sign", [1, -1])
def test_the_smaller_group_is_named_with_its_distance(sign: int) -> None:
    values = sign * np.array([0.0, 0.01] * 8 + [0.2, 0.21])
    found = two_modes(values)
    assert found is not None
    assert (found.few, found.n) == (2, 18)
    assert found.apart == pytest.approx(sign * 0.2) and found.gap == pytest.approx(0.19)


def test_an_outlier_and_equal_values_are_no_two_modes() -> None:
    assert two_modes(np.array([0.0, 0.01] * 8 + [0.5])) is None
    assert two_modes(np.zeros(20)) is None
    assert two_modes(np.array([0.0] * 10 + [1.0] * 10)) == Modes(10, 20, 1.0, 1.0)


def judged(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> str:
    flat = 0.001 * np.cos(np.arange(len(values)))
    comparison = Comparison(
        "v", "cpu", Direction.LOWER, effect_of(values), NoiseFloor(effect_of(flat))
    )
    return judge_family([comparison])[0].why


def test_a_verdict_s_reason_names_two_modes_that_matter() -> None:
    noise = 0.002 * np.sin(np.arange(20))
    slow = np.array([0.0] * 16 + [np.log(1.1)] * 4)
    assert "bimodal: in 4 of 20 blocks it is 9.9 % higher than in the others" in judged(
        noise + slow
    )
    assert "bimodal: in 4 of 20 blocks it is 9.2 % lower than in the" in judged(noise - slow)
    assert "bimodal" not in judged(noise)
    assert "bimodal" not in judged((noise + slow) / 10), "within the margin of equivalence"
