"""A given rate, held against what the slower of two servers can answer."""

import pytest

from tare.lab.errors import TareError
from tare.lab.run.facing import too_fast


def test_a_rate_that_both_hold_needs_no_remark() -> None:
    assert too_fast(800, 1000) is None


def test_a_rate_near_the_most_is_remarked_on() -> None:
    for rate in (801, 1100):
        assert too_fast(rate, 1000) == (
            "the slower server answers about 1000 requests per second at most, so at "
            f"{rate} latency is mostly time spent in its queue"
        )


def test_a_rate_beyond_it_is_refused_with_what_to_do() -> None:
    with pytest.raises(TareError) as refused:
        too_fast(1200, 1000)
    assert str(refused.value) == (
        "--rate 1200: the slower server answers about 1000 requests per second at most; expected "
        "less, or --saturated"
    )
