"""A few simulated benches answer as one does, and the program of docs/SCALE.md measures them."""

import signal

import pytest
from scale import cost, faster, lost
from simulated_benches import Simulation

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]


def test_what_benches_cost_is_measured() -> None:
    found = cost(Simulation(count=3, blocks=12, block_s=0.2), idle_s=0.5)
    assert found["block_cpu_ms"] > 0 and found["files"] > 3
    assert 40 < found["answer_kb"] < 200 and found["bench_mb"] > found["bench_own_mb"] > 10


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.thorough)]
)
def test_a_bench_that_dies_or_hangs_is_noticed(number: signal.Signals) -> None:
    endless = Simulation(count=3, blocks=1_000_000, block_s=1.0)
    (found,) = lost(endless, number, 1)
    assert found["noticed_s"] > 0 and found["again_s"] > 0


def test_two_benches_give_the_verdicts_of_one() -> None:
    assert faster(2, blocks=14, block_s=0.1)["times"] > 0
