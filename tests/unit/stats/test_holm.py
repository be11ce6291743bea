import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.holm import holm

ps = st.lists(st.floats(0, 1), max_size=12)


def test_the_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(ps)
def test_no_smaller_than_p_and_no_larger_than_bonferroni(p_values: list[float]) -> None:
    for p, adjusted in zip(p_values, holm(p_values), strict=True):
        assert p <= adjusted <= min(1.0, len(p_values) * p) + 1e-12


@given(ps)
def test_the_order_of_p_is_kept(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    by_p = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [adjusted[i] for i in by_p] == sorted(adjusted)


@given(ps.flatmap(lambda p: st.tuples(st.just(p), st.permutations(range(len(p))))))
def test_the_order_given_does_not_matter(case: tuple[list[float], list[int]]) -> None:
    p_values, order = case
    adjusted = holm(p_values)
    assert holm([p_values[i] for i in order]) == pytest.approx([adjusted[i] for i in order])


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_a_p_outside_its_range_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, p])
