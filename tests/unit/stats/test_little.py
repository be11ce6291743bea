import pytest

from tare.stats.little import little_residual


def test_the_law_holds_where_it_holds() -> None:
    assert little_residual(1000, 0.002, 2.0) == pytest.approx(0)


@pytest.mark.parametrize("in_flight", [1.9, 2.1])
def test_a_miss_on_either_side_is_a_share_of_the_mean_in_flight(in_flight: float) -> None:
    assert little_residual(1000, 0.002, in_flight) == pytest.approx(0.1 / in_flight)


@pytest.mark.parametrize("in_flight", [0.0, -1.0, float("nan")])
def test_nothing_in_flight_is_refused(in_flight: float) -> None:
    with pytest.raises(ValueError, match="in flight"):
        little_residual(1000, 0.002, in_flight)
