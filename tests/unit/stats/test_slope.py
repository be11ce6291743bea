"""Slopes of one trial: straight lines, drift, disturbed windows, curves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.slope import Window, bend, growth, slope

DOSES = (1, 16, 48, 64)
steepness = st.floats(-1e3, 1e3)
level = st.floats(-1e3, 1e3)


def line(each: float, at: list[float], doses: tuple[float, ...] = DOSES) -> list[Window]:
    """Windows on a straight line; each round begins at a level of its own."""
    return [
        Window(number, dose, start + each * dose)
        for number, start in enumerate(at)
        for dose in doses
    ]


@given(steepness, st.lists(level, min_size=1, max_size=6))
def test_a_straight_line_is_found_whatever_drifts_between_rounds(
    each: float, at: list[float]
) -> None:
    assert slope(line(each, at)) == pytest.approx(each, abs=1e-9)
    found = bend(line(each, at))
    assert found is not None and abs(found) < 1e-6
    assert growth(line(each, at)) == pytest.approx(
        {dose: each * (dose - 1) for dose in DOSES}, abs=1e-8
    )


@given(steepness, st.permutations(line(2.0, [5, 9, 1])))
def test_the_order_of_windows_does_not_matter(each: float, windows: list[Window]) -> None:
    assert slope(windows) == pytest.approx(2)
    scaled = [Window(w.round, w.dose, w.response * each) for w in windows]
    assert slope(scaled) == pytest.approx(2 * each, abs=1e-9)


@pytest.mark.parametrize("disturbed", range(16))
def test_one_disturbed_window_does_no_harm(disturbed: int) -> None:
    windows = line(0.01, [12.0] * 4)
    hit = windows[disturbed]
    windows[disturbed] = Window(hit.round, hit.dose, hit.response + 5)
    assert slope(windows) == pytest.approx(0.01, abs=1e-12)


def test_what_only_crosses_rounds_is_not_compared() -> None:
    apart = [Window(0, 1, 10.0), Window(1, 64, 99.0)]
    with pytest.raises(ValueError, match="a round with two doses"):
        slope(apart)


def test_a_curve_bends() -> None:
    curved = [Window(0, dose, 3.0 * dose + 0.5 * dose**2) for dose in DOSES]
    # The slope is 3 + dose: 63 more at the highest than at the lowest.
    assert bend(curved) == pytest.approx(63)
    assert bend(line(1.0, [0], doses=(1, 64))) is None


def test_weights_make_it_nearly_as_sharp_as_least_squares() -> None:
    rng = np.random.default_rng(11)
    x = np.array(DOSES * 4, dtype=float)
    ours, least_squares = [], []
    for _ in range(400):
        y = rng.standard_normal(16)
        windows = [Window(i // 4, x[i], y[i]) for i in range(16)]
        ours.append(slope(windows))
        centred = y.reshape(4, 4) - y.reshape(4, 4).mean(axis=1, keepdims=True)
        spread = np.array(DOSES) - np.mean(DOSES)
        least_squares.append(float((centred * spread).sum() / (4 * (spread**2).sum())))
    assert np.std(ours) < 1.15 * np.std(least_squares)
