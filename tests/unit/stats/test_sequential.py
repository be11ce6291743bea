"""The test that may be looked at after every pair: its errors, its interval, what it finds."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.effect import effect_of, effect_so_far
from tare.stats.floats import Floats
from tare.stats.power import blocks_to_detect
from tare.stats.sequential import LONGER, fewest_for, look
from tare.stats.signed_rank import p_value

LOOKS = 60
Draw = Callable[[np.random.Generator], Floats]
MACHINES: dict[str, Draw] = {
    "normal": lambda draw: draw.normal(0, 1, LOOKS),
    "heavy tails": lambda draw: draw.standard_t(1.5, LOOKS),
    "bursts": lambda draw: draw.normal(0, 1, LOOKS) * np.where(draw.random(LOOKS) < 0.1, 30, 1),
    "spread that drifts": lambda draw: draw.normal(0, 1, LOOKS) * np.geomspace(1, 20, LOOKS),
    "neighbours alike": lambda draw: draw.choice([-1, 1], LOOKS) * np.abs(_wave(draw)),
}


def _wave(draw: np.random.Generator) -> Floats:
    return np.cumsum(draw.normal(0, 0.3, LOOKS)) + 1


def first_look(differences: Floats, alpha: float = 0.05) -> int | None:
    """The first of all looks at which the test would stop; the capital keeps its largest."""
    if look(differences).p > alpha:
        return None
    low, high = 1, differences.size
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if look(differences[:middle]).p <= alpha else (middle + 1, high)
    return low


@pytest.mark.parametrize("machine", MACHINES)
def test_looking_after_every_pair_finds_too_much_in_one_of_twenty_at_most(machine: str) -> None:
    draw = np.random.default_rng(11)
    studies = [MACHINES[machine](draw) for _ in range(400)]
    wrong = sum(look(each).p <= 0.05 for each in studies)
    peeked = sum(any(p_value(each[:n]) <= 0.05 for n in range(6, LOOKS)) for each in studies[:100])
    print(f"{machine}: {wrong / 4:.1f} % wrong; by looking at signed ranks {peeked} %")
    # Four standard errors above 5 %.
    assert wrong / 400 <= 0.05 + 4 * (0.05 * 0.95 / 400) ** 0.5
    assert peeked > 10, "the machine would show what peeking does"


def test_the_interval_contains_the_truth_at_all_looks() -> None:
    draw = np.random.default_rng(12)
    lost = 0
    for _ in range(150):
        pairs = draw.normal(0.02, 0.01, 40)
        looks = [look(pairs[:n]).interval for n in range(5, 41, 5)]
        lost += not all(each is None or each.low <= 0.02 <= each.high for each in looks)
    assert lost / 150 <= 0.05 + 4 * (0.05 * 0.95 / 150) ** 0.5


def test_an_estimate_lies_within_its_interval_though_the_effect_drifts() -> None:
    draw, outside = np.random.default_rng(15), 0
    for _ in range(20):
        pairs = np.linspace(0, 0.05, 30) + draw.normal(0, 0.005, 30)
        effect = effect_so_far(pairs)
        if effect.interval is not None:
            assert effect.interval.low <= effect.log_ratio <= effect.interval.high
            outside += effect.log_ratio != effect_of(pairs).log_ratio
    assert outside > 0, "or the drift shows nothing"


def test_an_effect_that_changed_has_no_interval_instead_of_one_without_width() -> None:
    draw = np.random.default_rng(14)
    pairs = np.concatenate([0.1 + draw.normal(0, 0.005, 12), draw.normal(0, 0.005, 40)])
    assert look(pairs[:12]).interval is not None
    found = look(pairs)
    assert found.interval is None and found.changed and found.p < 0.05
    effect = effect_so_far(pairs)
    assert effect.interval is None
    assert effect.missing == "no one effect fits all pairs: it changed in the course of the run"


@pytest.mark.parametrize(
    ("deviations", "share", "looks"), [(0.5, 0.55, 60), (1, 0.9, 25), (2, 0.9, 10), (20, 1, 7)]
)
def test_effects_are_found_the_sooner_the_larger_they_are(
    deviations: float, share: float, looks: int
) -> None:
    draw = np.random.default_rng(13)
    firsts = [first_look(draw.normal(deviations, 1, LOOKS)) for _ in range(150)]
    found = [each for each in firsts if each is not None and each <= looks]
    half = np.median([LOOKS if each is None else each for each in firsts])
    print(f"{deviations} sd: half by {half:.0f} pairs, {len(found) / 1.5:.0f} % within {looks}")
    assert len(found) / 150 >= share


def test_the_fewest_pairs_are_those_of_an_effect_without_noise() -> None:
    for alpha in (0.05, 0.05 / 3, 0.001):
        n = fewest_for(alpha)
        same = np.full(n, 0.3) + np.linspace(0, 1e-6, n)
        assert look(same).p <= alpha < look(same[:-1]).p


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=12))
def test_swapping_the_sides_turns_the_signs_and_nothing_else(values: list[float]) -> None:
    pairs = np.array(values)
    here, there = look(pairs), look(-pairs)
    assert here.capital == pytest.approx(there.capital)
    assert (here.interval is None) == (there.interval is None)
    if here.interval is not None and there.interval is not None:
        assert here.interval.low == pytest.approx(-there.interval.high, abs=1e-6)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=12))
def test_evidence_once_seen_stays(values: list[float]) -> None:
    pairs = np.array(values)
    assert look(pairs).capital >= look(pairs[:-1]).capital >= 1


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("effect", [0.5, 0.8, 1.2])
def test_so_many_times_the_pairs_of_the_other_test_are_enough(alpha: float, effect: float) -> None:
    rng, studies = np.random.default_rng(5), 100
    pairs = math.ceil(LONGER * blocks_to_detect(1.0, effect, alpha))
    found = sum(look(rng.normal(effect, 1, pairs)).p <= alpha for _ in range(studies))
    assert 72 <= found <= 97, (pairs, found)
