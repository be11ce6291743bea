from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.plan_order import CONTROL, block_order

names = st.text("abc-", min_size=1, max_size=4)


@given(st.lists(names, unique=True, max_size=8), st.integers(), st.integers(0, 99))
def test_a_block_is_complete_and_the_same_each_time(
    variants: list[str], seed: int, block: int
) -> None:
    order = block_order(variants, seed, block)
    assert sorted(order) == sorted([*variants, CONTROL])
    assert order == block_order(variants, seed, block)


def test_the_order_is_what_it_was_when_runs_were_recorded() -> None:
    variants = ["none", "c-module", "dynamic-c"]
    assert [block_order(variants, 42, block) for block in range(2)] == [
        ("dynamic-c", "none", CONTROL, "c-module"),
        ("c-module", "dynamic-c", CONTROL, "none"),
    ]


def test_every_order_is_about_equally_frequent() -> None:
    count = Counter(block_order(["a", "b", "c"], 7, block) for block in range(4800))
    assert set(count) == set(permutations(["a", "b", "c", CONTROL]))
    # 200 of each are expected; chi-squared with 23 degrees of freedom is below 49.7 in 99.9 %.
    assert sum((n - 200) ** 2 / 200 for n in count.values()) < 49.7


def test_seeds_and_blocks_differ() -> None:
    variants = list("abcdefgh")
    assert (
        len({block_order(variants, seed, block) for seed in range(10) for block in range(10)}) > 95
    )


@pytest.mark.parametrize("variants", [["a", "a"], ["a", CONTROL]])
def test_a_name_twice_is_refused(variants: list[str]) -> None:
    with pytest.raises(ValueError, match="once"):
        block_order(variants, 1, 0)
