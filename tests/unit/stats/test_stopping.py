import numpy as np
import pytest

from tare.stats.effect import Effect, effect_of
from tare.stats.stopping import Stop, StoppingRule


def effect(n: int, width: float, centre: float = 0.0) -> Effect:
    return effect_of(np.linspace(centre - width, centre + width, n))


RULE = StoppingRule()


def test_narrow_enough_stops_but_not_before_the_fewest_blocks() -> None:
    assert RULE.decide([effect(7, 0.001)], 7) is Stop.GO_ON
    assert RULE.decide([effect(8, 0.001)], 8) is Stop.NARROW


def test_one_wide_comparison_keeps_a_run_going() -> None:
    assert RULE.decide([effect(12, 0.001), effect(12, 0.1)], 12) is Stop.GO_ON


def test_the_most_blocks_end_it() -> None:
    assert RULE.decide([effect(40, 0.5)], 39) is Stop.GO_ON
    assert RULE.decide([effect(40, 0.5)], 40) is Stop.MOST_BLOCKS


def test_pairs_that_did_not_count_do_not_make_a_comparison_narrow() -> None:
    assert RULE.decide([effect(7, 0.001)], 12) is Stop.GO_ON
    assert StoppingRule(min_blocks=3).decide([effect(5, 0.001)], 5) is Stop.GO_ON


def test_the_size_of_the_effect_does_not_matter() -> None:
    for centre in (-0.5, 0.0, 0.02, 3.0):
        assert RULE.decide([effect(10, 0.005, centre)], 10) is Stop.NARROW
        assert RULE.decide([effect(10, 0.05, centre)], 10) is Stop.GO_ON


@pytest.mark.parametrize(
    "rule", [{"min_blocks": 0}, {"min_blocks": 9, "max_blocks": 8}, {"half_width": 0}]
)
def test_a_rule_that_contradicts_itself_is_refused(rule: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="stopping rule"):
        StoppingRule(**rule)
