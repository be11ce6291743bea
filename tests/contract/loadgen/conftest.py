"""Fixtures of the contract tests of `loadgen`: the laboratory's own bench, trials and sites."""

import socket
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from adapters import PEERS, loaded, why_not
from benches import opened

from tare.lab.run import planning
from tare.lab.trial.bench import Bench
from tare.lab.trial.site import Site
from tare.lab.trial.trial import run_trial
from tare.model.scenario import Scenario
from tare.model.trial import PlannedTrial, Trial

SHORT = {"connections": 3, "warmup_s": 0.3, "duration_s": 0.5}


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One for all peers that can be run here."""
    folder = tmp_path_factory.mktemp("loadgen")
    with opened(
        loaded, [peer for peer in PEERS if why_not(peer) is None], folder, server=1, client=1
    ) as found:
        yield found


@pytest.fixture
def trial(bench: Bench, tmp_path: Path) -> Callable[..., Trial]:
    """Makes a short trial of a peer in the scenario of some levels, oracle and audit included."""

    def make(peer: str, **levels: str) -> Trial:
        scenario = _scenario(bench, levels)
        planned = PlannedTrial(block=0, scenario=scenario.name, label=peer, variant=peer, id=peer)
        return run_trial(
            bench,
            planned,
            1,
            scenario.parameters,
            seed=1,
            version="",
            work=tmp_path,
            progress=lambda _: None,
        ).trial

    return make


@pytest.fixture
def site(bench: Bench, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Starts the server of a peer in the scenario of some levels."""
    made: list[Site] = []
    numbers = count()

    def make(peer: str, **levels: str) -> Site:
        name = f"site-{next(numbers)}"
        parameters = _scenario(bench, levels).parameters
        started = Site(bench, peer, parameters, seed=1, name=name, folder=tmp_path / name)
        made.append(started)
        started.start()
        return started

    yield make
    for one in made:
        one.stop()


def _scenario(bench: Bench, levels: dict[str, str]) -> Scenario:
    return planning.scenario_at(bench.loaded, levels, SHORT)


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port that is bound, so that nobody else gets it, and does not listen."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
