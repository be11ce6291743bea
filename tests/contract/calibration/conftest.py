"""Fixtures of the contract tests of `calibration`: short trials and duels of the known server."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from benches import opened
from known import loaded, parameters, planned

from tare.lab.trial.bench import Bench
from tare.lab.trial.duel import Opponents, run_duel
from tare.lab.trial.site import Site
from tare.lab.trial.trial import run_trial
from tare.model.trial import Trial


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("calibration")
    with opened(loaded, ["plain", "more"], folder, server=1, client=1) as found:
        yield found


@pytest.fixture
def trial(bench: Bench, tmp_path: Path) -> Callable[..., Trial]:
    """Makes a trial of `more`, oracle and audit included."""

    def make(**changes: Any) -> Trial:
        what = parameters(**changes)
        return run_trial(
            bench, planned("more"), 1, what,
            seed=1, version="", work=tmp_path, progress=lambda _: None,
        ).trial  # fmt: skip

    return make


@pytest.fixture
def duel(bench: Bench, tmp_path: Path) -> Callable[..., tuple[Trial, Trial]]:
    """Makes a duel of `plain` and `more`."""
    opponents = Opponents("plain", {"plain": "", "more": ""})
    attempts = count(1)

    def make(**changes: Any) -> tuple[Trial, Trial]:
        done = run_duel(
            bench, planned("more"), next(attempts), parameters(**changes),
            opponents=opponents, seed=1, work=tmp_path, progress=lambda _: None,
        )  # fmt: skip
        plain, more = (each.trial for each in done)
        return plain, more

    return make


@pytest.fixture
def site(bench: Bench, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Starts `more`."""
    made: list[Site] = []
    numbers = count()

    def make(**changes: Any) -> Site:
        name = f"site-{next(numbers)}"
        what = parameters(**changes)
        started = Site(bench, "more", what, seed=1, name=name, folder=tmp_path / name)
        made.append(started)
        started.start()
        return started

    yield make
    for one in made:
        one.stop()
