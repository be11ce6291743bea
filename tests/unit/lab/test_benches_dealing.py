"""How a coordinator deals the blocks of a plan."""

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed.scheduler import KilledWorker

from tare.lab.errors import TareError
from tare.lab.run.benches.coordinator import Coordinator
from tare.lab.run.benches.known import Known
from tare.lab.run.benches.pool import Answer

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from runs import plan, trials


class Benches:
    """Four benches that make each block as soon as it is dealt."""

    def __init__(self) -> None:
        self.dealt: list[int] = []
        self._made: list[Answer] = []

    def names(self) -> dict[str, str]:
        return dict.fromkeys("abcd", "")

    def deal(self, asked: Any) -> None:
        self.dealt.append(asked.block)
        self._made.append(Answer(asked.block))

    def answers(self, seconds: float) -> list[Answer]:
        made, self._made = self._made, []
        return made


def test_no_block_is_dealt_that_the_plan_does_not_have() -> None:
    made = plan(blocks={"min": 6, "max": 6})
    done = trials(made, 6, {})
    dealer: Any = object.__new__(Coordinator)
    dealer._plan, dealer._known, dealer._there = made, Known(made, []), set()
    dealer._alone_since = time.monotonic()
    dealer._watcher = SimpleNamespace(
        remark=lambda _: None, benches=lambda _: None, block=lambda *_: None
    )
    dealer._asked = lambda block: SimpleNamespace(block=block)
    dealer._taken = lambda _, answer: answer.block
    dealer._keep = lambda block: dealer._known.add(each for each in done if each.block == block)
    benches: Any = Benches()
    dealer._deal(benches)
    assert benches.dealt == list(range(6))


def test_a_block_that_ended_in_an_error_is_told_with_what_to_do() -> None:
    dealer: Any = object.__new__(Coordinator)
    dealer._plan = plan()
    for error in (KeyError("fingerprint"), KilledWorker("block", SimpleNamespace(), 3)):
        with pytest.raises(TareError, match=r"block 3 .*; go on with: tare resume") as told:
            dealer._taken(None, Answer(2, error=error))
        assert "nothing that is stored is lost" in str(told.value)
