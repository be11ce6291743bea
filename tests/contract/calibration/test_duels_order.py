"""The probes read the two sides of a duel in an order that is drawn: whichever is read first is
seen for a little longer.
"""

from pathlib import Path
from typing import Any

import pytest
from known import parameters, planned

from tare.lab.errors import RoleError
from tare.lab.trial import duel
from tare.lab.trial.bench import Bench
from tare.lab.trial.duel import Opponents, run_duel
from tare.lab.trial.site import Site

DUELS = 4


def test_each_side_is_read_first_in_some_duels(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = []

    def observe(sites: list[Site], *_: Any, read: list[Site]) -> None:
        assert [site.variant for site in sites] == ["more", "plain"], "the instrument's site first"
        orders.append([site.variant for site in read])
        raise RoleError("enough")

    monkeypatch.setattr(duel, "observe", observe)
    for attempt in range(1, DUELS + 1):
        run_duel(
            bench, planned("more"), attempt, parameters(),
            opponents=Opponents("plain", {"plain": "", "more": ""}),
            seed=1, work=tmp_path, progress=lambda _: None,
        )  # fmt: skip
    assert ["more", "plain"] in orders and ["plain", "more"] in orders
    assert len(orders) == DUELS
