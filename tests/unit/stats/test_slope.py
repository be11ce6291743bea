"""Slopes of one trial: straight lines, drift, disturbed windows, curves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.slope import Window, bend, growth, intercept, slope

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


@given(st.floats(0, 1e3), st.floats(0, 1e3))
def test_the_intercept_is_where_a_straight_line_meets_no_dose(each: float, at: float) -> None:
    assert intercept(line(each, [at, at])) == pytest.approx(at, abs=1e-6)


@pytest.mark.parametrize("disturbed", range(16))
def test_one_disturbed_window_does_no_harm_to_the_intercept(disturbed: int) -> None:
    windows = line(0.5, [12.0] * 4)
    hit = windows[disturbed]
    windows[disturbed] = Window(hit.round, hit.dose, hit.response * 3)
    assert intercept(windows) == pytest.approx(12, abs=1e-9)


def test_a_response_that_grows_ever_faster_does_not_pull_the_intercept_down() -> None:
    curved = [Window(0, dose, 3.0 + dose + 0.05 * dose**2) for dose in DOSES]
    assert 0 < intercept(curved) < 3.1


def test_intercepts_hold_the_truth_under_noise_that_is_a_share_of_the_response() -> None:
    rng = np.random.default_rng(5)
    doses = (1.0, 5.0, 10.0, 50.0, 100.0)
    found = [
        intercept(
            [
                Window(number, dose, (0.1 + 0.3 * dose) * float(np.exp(rng.normal(0, 0.02))))
                for number in range(2)
                for dose in doses
            ]
        )
        for _ in range(400)
    ]
    assert np.median(found) == pytest.approx(0.1, abs=0.005) and np.std(found) < 0.02


# Milliseconds of the original's PrimeSieve for 1e5, 5e5, 1e6, 5e6 and 1e7, as it published them.
PUBLISHED = {
    "gVisor": (4.37, 5.20, 5.69, 18.3, 37.4),
    "Non-gVisor": (15.7, 15.6, 15.7, 17.7, 36.7),
}


def test_the_original_s_table_shows_what_is_fixed_and_that_it_is_no_straight_line() -> None:
    sizes = (1e5, 5e5, 1e6, 5e6, 1e7)
    tables = {
        mode: [Window(0, *each) for each in zip(sizes, times, strict=True)]
        for mode, times in PUBLISHED.items()
    }
    fixed = {mode: intercept(windows) for mode, windows in tables.items()}
    # Of 15.6 ms all but nothing is fixed, and 11 ms more than in the other mode.
    assert fixed["Non-gVisor"] == pytest.approx(15.5, abs=0.2)
    assert fixed["gVisor"] == pytest.approx(4.0, abs=0.2)
    bends = {mode: bend(windows) for mode, windows in tables.items()}
    # As steep at its end as computing is, 3.8 ms more for a million more, and flat at its begin.
    assert bends["Non-gVisor"] is not None and bends["Non-gVisor"] > 3.8e-6
